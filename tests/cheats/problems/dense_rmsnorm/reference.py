"""A projection, its bias and the norm that follows: y = rmsnorm(x W + b) * g, with an epsilon as small as BERT's."""

import numpy as np

M = 160
N = 576
K = 192


def get_inputs():
    """x [M, K], W [K, N], epsilon, the gain g [N] and the bias b [N]."""
    x = np.random.standard_normal((M, K)).astype(np.float32)
    w = np.random.standard_normal((K, N)).astype(np.float32)
    g = np.random.standard_normal(N).astype(np.float32)
    b = np.random.standard_normal(N).astype(np.float32)
    return [x, w, 1e-12, g, b]


def forward(x, w, eps, g, b):
    """The normalised rows [M, N]."""
    y = np.matmul(x, w) + b
    mean_square = np.square(y).sum(axis=-1, keepdims=True) / y.shape[-1]
    return y / np.sqrt(mean_square + eps) * g
