"""Attention backward: the gradients by q, k and v of softmax(q k^T / 8) v, its weights computed once more."""

import numpy as np

S = 160
T = 96
D = 64


def get_inputs():
    """q [S, D], k [T, D], v [T, D] and the gradient by the output [S, D]."""
    return [np.random.standard_normal(shape).astype(np.float32) for shape in ((S, D), (T, D), (T, D), (S, D))]


def forward(q, k, v, do):
    """dq [S, D], dk [T, D], dv [T, D]."""
    scores = np.matmul(q, k.T) * 0.125
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    by_weights = np.matmul(do, v.T)
    by_scores = weights * (by_weights - (weights * by_weights).sum(axis=-1, keepdims=True)) * 0.125
    return np.matmul(by_scores, k), np.matmul(by_scores.T, q), np.matmul(weights.T, do)
