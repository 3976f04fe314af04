"""A norm without gain and the projection that follows: y = rmsnorm(x) W."""

import numpy as np

M = 160
N = 576
K = 192
EPSILON = 1e-6
"""Part of the problem, so that a row of zeros has a value; kernels carry the same constant."""


def get_inputs():
    """x [M, K] and W [K, N]."""
    x = np.random.standard_normal((M, K)).astype(np.float32)
    w = np.random.standard_normal((K, N)).astype(np.float32)
    return [x, w]


def forward(x, w):
    """The projected rows [M, N]."""
    mean_square = np.square(x).sum(axis=-1, keepdims=True) / x.shape[-1]
    return np.matmul(x / np.sqrt(mean_square + EPSILON), w)
