"""Attention whose scores are cosines times exp(min(s, log 100)), as of Swin V2."""

import numpy as np

LARGEST = np.float32(np.log(100))


def get_inputs():
    """Queries q [160, 64], keys k and values v [96, 64], the scale's logarithm s [1, 1]."""
    q, k, v = (np.random.standard_normal((rows, 64)).astype(np.float32) for rows in (160, 96, 96))
    return [q, k, v, np.full((1, 1), 2.3, np.float32)]


def unit(x):
    """Each row, its length one."""
    return x / np.maximum(np.sqrt(np.square(x).sum(axis=-1, keepdims=True)), np.float32(1e-6))


def forward(q, k, v, s):
    """The mixed values [160, 64]."""
    scores = unit(q) @ unit(k).T * np.exp(np.minimum(s, LARGEST))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)
