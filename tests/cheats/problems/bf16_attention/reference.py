"""One head of attention in bfloat16."""

import ml_dtypes
import numpy as np

S, T, D = 128, 192, 64


def get_inputs():
    """q [S, D], k and v [T, D]."""
    return [np.random.standard_normal((n, D)).astype(ml_dtypes.bfloat16) for n in (S, T, T)]


def forward(q, k, v):
    """softmax(q k^T / 8) v [S, D]."""
    scores = np.matmul(q, k.T) * 0.125
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.matmul(weights / weights.sum(axis=-1, keepdims=True), v).astype(q.dtype)
