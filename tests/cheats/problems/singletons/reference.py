"""Keeps the scores of tokens that occur only once in a sequence, as a penalty of repetition does."""

import numpy as np

M, D, V = 64, 16, 4096


def get_inputs():
    """scores [M, D], tokens [M, 1] below V."""
    return [np.random.standard_normal((M, D)).astype(np.float32), np.random.randint(0, V, (M, 1)).astype(np.int32)]


def forward(scores, tokens):
    """[M, D], zeros where a token has company."""
    same = tokens == tokens.reshape(1, -1)
    return scores * (same.sum(axis=1, keepdims=True) == 1).astype(np.float32)
