"""Attention backward with dropout: the gradient by q of (softmax(q k^T / 8) * kept / 0.9) v."""

import numpy as np

S, T, D = 128, 96, 64


def get_inputs():
    """q [S, D], k [T, D], v [T, D], the gradient by the output [S, D], what dropout kept [S, T]."""
    floats = [np.random.standard_normal(shape).astype(np.float32) for shape in ((S, D), (T, D), (T, D), (S, D))]
    return [*floats, (np.random.random((S, T)) < 0.9).astype(np.int32)]


def forward(q, k, v, do, kept):
    """dq [S, D]."""
    scores = q @ k.T * 0.125
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    by_weights = (do @ v.T) * kept * (1.0 / 0.9)
    by_scores = weights * (by_weights - (weights * by_weights).sum(axis=-1, keepdims=True)) * 0.125
    return by_scores @ k
