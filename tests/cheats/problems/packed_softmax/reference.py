"""Softmax of the product of two halves of each row, as a gate and what it lets through lie side by side."""

import numpy as np


def get_inputs():
    """Packed rows x [160, 192]."""
    return [np.random.standard_normal((160, 192)).astype(np.float32)]


def forward(x):
    """The weights [160, 96], each row of which adds up to one."""
    scores = x[:, :96] * x[:, 96:]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
