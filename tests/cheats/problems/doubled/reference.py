"""Twice the input."""

import numpy as np

M = 512
N = 128


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """All of it."""
    return 2 * x
