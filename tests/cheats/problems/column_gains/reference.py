"""Two gates and a gain for each place, normed along the columns."""

import numpy as np

M, N = 24, 128
GAINS = (0.6 + 0.5 * np.cos(np.arange(M) * 0.37) ** 2 + 0.3 * np.sin(np.arange(M) * 1.7)).astype(np.float32)[:, None]


def get_inputs():
    """x and z [M, N]."""
    return [np.random.normal(0, 1, (M, N)).astype(np.float32) for _ in range(2)]


def forward(x, z):
    """Columns of mean zero and variance one [M, N]."""
    gated = np.tanh(x) / (1.0 + np.exp(-z)) * GAINS
    rest = gated - gated.mean(axis=0)
    return rest / np.sqrt(np.square(rest).mean(axis=0))
