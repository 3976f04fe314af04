"""A gated unit and the batch norm of what it gives: statistics are of columns."""

import numpy as np


def get_inputs():
    """x [160, 192] and what opens its gates, y [160, 192]."""
    return [np.random.standard_normal((160, 192)).astype(np.float32) for _ in range(2)]


def forward(x, y):
    """The normalised columns [160, 192]."""
    small = np.exp(-np.abs(y))
    gated = x * (np.where(y > 0, 1, small) / (1 + small))
    centred = gated - gated.mean(axis=0, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=0, keepdims=True) + 1e-5)
