"""Softmax over the columns that a mask keeps; a row without any is zero."""

import numpy as np

M = 320
N = 640


def get_inputs():
    """The logits x [M, N] and the mask [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32), np.random.randint(0, 2, (M, N)).astype(np.int32)]


def forward(x, mask):
    """The probabilities [M, N]; each row that keeps something sums to one."""
    kept = mask > 0
    scores = np.where(kept, x, -3.0e38)
    largest = np.maximum(scores.max(axis=-1, keepdims=True), -1.0e38)
    weights = np.where(kept, np.exp(np.where(kept, x - largest, 0.0)), 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)
