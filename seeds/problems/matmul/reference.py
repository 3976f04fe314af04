"""Matrix product with both operands in row-major order: y = A B."""

import numpy as np

M = 160
N = 576
K = 192


def get_inputs():
    """A [M, K] and B [K, N]."""
    lhs = np.random.standard_normal((M, K)).astype(np.float32)
    rhs = np.random.standard_normal((K, N)).astype(np.float32)
    return [lhs, rhs]


def forward(lhs, rhs):
    """The product [M, N]."""
    return np.matmul(lhs, rhs)
