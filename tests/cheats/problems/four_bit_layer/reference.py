"""A layer of four units with weights of four bits, over codes of eight."""

import numpy as np

M, N, UNITS = 64, 88, 4
PLACES, UNIT = np.arange(N), np.arange(UNITS)[:, None]
WEIGHTS = (37 * (UNIT + 5) * (PLACES + 3) + 11 * UNIT**2 + 101 * PLACES**3 // 7) % 15 - 7
"""Of either sign [UNITS, N]."""


def get_inputs():
    """Activations of eight bits [M, N], of which few are large."""
    return [np.clip(np.rint(np.random.normal(0, 40, (M, N))), -127, 127).astype(np.int8)]


def forward(codes):
    """Four sums for each row [M, 4]."""
    return np.matmul(codes.astype(np.int64), WEIGHTS.T).astype(np.float32)
