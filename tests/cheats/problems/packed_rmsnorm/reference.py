"""Two parts of a packed projection are added and normalised, and a third one gates them."""

import numpy as np

M = 160
N = 96
EPSILON = 1e-6


def get_inputs():
    """packed [M, 3 N]."""
    return [np.random.standard_normal((M, 3 * N)).astype(np.float32)]


def forward(packed):
    """[M, N]."""
    x, residual, gate = packed[:, :N], packed[:, N : 2 * N], packed[:, 2 * N :]
    total = x + residual
    return total / np.sqrt(np.square(total).mean(-1, keepdims=True) + EPSILON) * gate
