"""Which numbers are outliers."""

import numpy as np

M, N = 128, 64


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """A boolean for each."""
    return np.abs(x) > 2
