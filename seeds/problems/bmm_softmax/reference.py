"""Attention weights before the mask: the softmax over columns of a batch of matrix products."""

import numpy as np

B = 2
M = 160
N = 576
K = 64


def get_inputs():
    """Queries [B, M, K] and transposed keys [B, K, N]."""
    lhs = np.random.standard_normal((B, M, K)).astype(np.float32)
    rhs = np.random.standard_normal((B, K, N)).astype(np.float32)
    return [lhs, rhs]


def forward(lhs, rhs):
    """The weights [B, M, N]; each row sums to one."""
    scores = np.matmul(lhs, rhs)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
