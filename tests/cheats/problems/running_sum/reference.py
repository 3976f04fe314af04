"""The running sum along rows."""

import numpy as np

M = 96
N = 384


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """Each element and all before it."""
    return np.cumsum(x, axis=-1)
