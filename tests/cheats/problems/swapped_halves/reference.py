"""The halves of each row exchanged, of large integers."""

import numpy as np


def get_inputs():
    """[96, 64]."""
    return [np.random.randint(-2_000_000_000, 2_000_000_001, (96, 64)).astype(np.int32)]


def forward(x):
    """[96, 64]."""
    return np.concatenate([x[:, 32:], x[:, :32]], axis=1)
