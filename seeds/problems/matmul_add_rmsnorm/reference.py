"""A projection, its residual and the norm that follows: y = rmsnorm(x W + z) * g."""

import numpy as np

M = 160
N = 576
K = 192


def get_inputs():
    """x [M, K], W [K, N], epsilon, the residual z [M, N] and the gain g [N]."""
    x = np.random.standard_normal((M, K)).astype(np.float32)
    w = np.random.standard_normal((K, N)).astype(np.float32)
    z = np.random.standard_normal((M, N)).astype(np.float32)
    g = np.random.standard_normal(N).astype(np.float32)
    return [x, w, 1e-5, z, g]


def forward(x, w, eps, z, g):
    """The normalised rows [M, N]."""
    y = np.matmul(x, w) + z
    mean_square = np.square(y).sum(axis=-1, keepdims=True) / y.shape[-1]
    return y / np.sqrt(mean_square + eps) * g
