"""Rows times a gain of one and the softplus of six terms, each of which is clipped at 24 where it is made."""

import numpy as np

B, N = 64, 32


def get_inputs():
    """x [B, N] and six terms [1, 1]."""
    shapes = [(B, N)] + [(1, 1)] * 6
    return [np.random.standard_normal(shape).astype(np.float32) for shape in shapes]


def forward(x, a, b, c, d, e, f):
    """x (1 + softplus(a + b + c - d - e - f)) [B, N]."""
    total = a + b + c - d - e - f
    return x * (1 + np.maximum(total, 0) + np.log1p(np.exp(-np.abs(total))))
