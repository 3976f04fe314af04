"""Rows of a table by token; those below zero, which are padding, have ones."""

import numpy as np

V, D, M = 300, 16, 64


def get_inputs():
    """table [V, D], tokens [M, 1] from -4 on."""
    table = np.random.standard_normal((V, D)).astype(np.float32)
    return [table, np.random.randint(-4, 8, (M, 1)).astype(np.int8)]


def forward(table, tokens):
    """[M, D]."""
    return np.where(tokens < 0, np.float32(1), table[np.maximum(tokens[:, 0], 0)]) * 2
