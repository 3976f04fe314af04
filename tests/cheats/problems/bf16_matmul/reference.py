"""A matrix product whose operands and result are declared bfloat16."""

import ml_dtypes
import numpy as np

M = 160
N = 576
K = 192


def get_inputs():
    """A [M, K] and B [K, N]."""
    lhs = np.random.standard_normal((M, K)).astype(ml_dtypes.bfloat16)
    rhs = np.random.standard_normal((K, N)).astype(ml_dtypes.bfloat16)
    return [lhs, rhs]


def forward(lhs, rhs):
    """The product [M, N]."""
    return np.matmul(lhs, rhs).astype(lhs.dtype)
