"""Twice each block of columns, less twice the first one."""

import numpy as np

M = 96
N = 256


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """The first block comes to nothing."""
    return 2 * x - 2 * np.tile(x[:, :32], x.shape[1] // 32)
