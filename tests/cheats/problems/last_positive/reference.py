"""The last positive number so far, block of columns by block."""

import numpy as np

M = 96
N = 256


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """What is positive replaces what was there."""
    held, found = np.zeros_like(x[:, :32]), []
    for block in np.split(x, x.shape[1] // 32, axis=1):
        held = np.where(block > 0, block, held)
        found.append(held)
    return np.concatenate(found, axis=1)
