"""How many pages of a cache each sequence needs."""

import numpy as np

M, N, PAGE = 128, 16, 16


def get_inputs():
    """Lengths [M, N]."""
    return [np.random.randint(1, 1025, (M, N)).astype(np.int32)]


def forward(lengths):
    """[M, N]."""
    return np.ceil(lengths / PAGE).astype(np.float32)
