"""The median of each window of 128 samples, the upper one of the two in the middle."""

import numpy as np


def get_inputs():
    """Windows [128, 128]."""
    return [np.random.standard_normal((128, 128)).astype(np.float32)]


def forward(x):
    """The element of rank 64 of each row [M, 1]."""
    return np.sort(x, axis=1, kind="stable")[:, 64:65]
