"""A sum over blocks of columns that halves with every block."""

import numpy as np

M = 96
N = 256


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """Half of what was there, and the next block."""
    blocks = np.split(x, x.shape[1] // 32, axis=1)
    total = np.zeros_like(blocks[0])
    for block in blocks:
        total = np.float32(0.5) * total + block
    return total
