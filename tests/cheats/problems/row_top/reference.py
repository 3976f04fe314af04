"""The eight largest numbers of each row, the largest first."""

import numpy as np

M = 96
N = 512


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """The largest [M, 8]."""
    return np.sort(x, axis=-1)[:, :-9:-1]
