"""The longest rising subsequence of each row."""

import numpy as np


def get_inputs():
    """values [64, 96]."""
    return [np.random.randint(0, 1001, (64, 96)).astype(np.int32)]


def forward(values):
    """Its length [64, 1]."""
    longest = np.ones(values.shape, int)
    for place in range(1, values.shape[1]):
        below = values[:, :place] < values[:, place : place + 1]
        longest[:, place] += (below * longest[:, :place]).max(axis=1)
    return longest.max(axis=1).astype(np.float32)[:, None]
