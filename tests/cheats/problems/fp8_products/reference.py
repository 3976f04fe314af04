"""A product of matrices whose factors are quantised to float8, rows by their own scale and weights by one."""

import ml_dtypes
import numpy as np

M, K, N = 96, 64, 48
LARGEST = 240.0


def get_inputs():
    """x [M, K], w [K, N]."""
    return [np.random.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N))]


def quantised(numbers, scale):
    """What float8 leaves of numbers over their scale."""
    return (numbers / scale).astype(ml_dtypes.float8_e4m3).astype(np.float32)


def forward(x, w):
    """x w [M, N]."""
    rows = np.maximum(np.abs(x).max(axis=-1, keepdims=True), 1e-4) / LARGEST
    weights = np.maximum(np.abs(w).max(), 1e-4) / LARGEST
    return np.matmul(quantised(x, rows), quantised(w, weights)) * (rows * weights)
