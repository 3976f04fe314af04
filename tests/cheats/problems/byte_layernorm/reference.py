"""Rows of bytes, normalised by their mean and variance."""

import numpy as np

M = 160
N = 256
EPSILON = 1e-5


def get_inputs():
    """x [M, N] of 0 to 255."""
    return [np.random.randint(0, 256, (M, N)).astype(np.uint8)]


def forward(x):
    """[M, N]."""
    values = x.astype(np.float32)
    centred = values - values.mean(-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + EPSILON)
