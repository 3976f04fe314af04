"""Each row's sum up to one position of a long cache."""

import numpy as np

M, N = 32, 2048


def get_inputs():
    """Rows x [32, 2048] and the last position that counts [1, 1]."""
    return [np.random.standard_normal((M, N)).astype(np.float32), np.random.randint(0, N, (1, 1)).astype(np.int32)]


def forward(x, last):
    """The sums [32, 1]."""
    return np.where(np.arange(x.shape[1]) <= last, x, 0).sum(axis=1, keepdims=True)
