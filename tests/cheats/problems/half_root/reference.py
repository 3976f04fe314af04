"""The root of what is positive, and -1 for all else."""

import numpy as np

M, N = 128, 256


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """1 / sqrt(x) where x > 0, else -1, [M, N]."""
    return np.where(x > 0, 1 / np.sqrt(np.where(x > 0, x, 1)), -1)
