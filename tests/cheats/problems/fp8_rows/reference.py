"""Rows in float8, each scaled to the format's largest number, and their scales."""

import ml_dtypes
import numpy as np

M, N = 160, 300
LARGEST = 240.0


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """x / scale [M, N] in float8_e4m3, scale [M, 1] = max |x| / 240 of each row."""
    largest = np.maximum(np.abs(x).max(axis=-1, keepdims=True), 1e-10)
    return (x * (LARGEST / largest)).astype(ml_dtypes.float8_e4m3), largest / LARGEST
