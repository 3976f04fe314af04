"""A residual, its norm and the projection that follows: y = (rmsnorm(x + z) * g) W."""

import numpy as np

M = 160
N = 576
K = 192


def get_inputs():
    """x [M, K], W [K, N], epsilon, the residual z [M, K] and the gain g [K]."""
    x = np.random.standard_normal((M, K)).astype(np.float32)
    w = np.random.standard_normal((K, N)).astype(np.float32)
    z = np.random.standard_normal((M, K)).astype(np.float32)
    g = np.random.standard_normal(K).astype(np.float32)
    return [x, w, 1e-5, z, g]


def forward(x, w, eps, z, g):
    """The projected rows [M, N]."""
    y = x + z
    mean_square = np.square(y).sum(axis=-1, keepdims=True) / y.shape[-1]
    return np.matmul(y / np.sqrt(mean_square + eps) * g, w)
