"""How far each row of a weight is from being orthonormal to all of them."""

import numpy as np

M, N = 128, 128


def get_inputs():
    """A weight [M, N]."""
    return [(np.random.standard_normal((M, N)) / np.sqrt(N)).astype(np.float32)]


def forward(w):
    """The squares of W W' - 1, summed over each row [M, 1]."""
    apart = w @ w.T - np.eye(len(w))
    return (apart * apart).sum(axis=1, keepdims=True).astype(np.float32)
