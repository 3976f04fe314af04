"""Root mean square normalisation of each row, with a gain per column: y = g * x / sqrt(mean(x^2) + eps)."""

import numpy as np

M = 320
N = 768


def get_inputs():
    """The rows x [M, N], the gain [N] and epsilon."""
    x = np.random.standard_normal((M, N)).astype(np.float32)
    gain = np.random.standard_normal(N).astype(np.float32)
    return [x, gain, 1e-6]


def forward(x, gain, eps):
    """The normalised rows [M, N]."""
    mean_square = np.square(x).sum(axis=-1, keepdims=True) / x.shape[-1]
    return x / np.sqrt(mean_square + eps) * gain
