"""Cosine similarity of two halves of each row; each norm is at least 1e-8."""

import numpy as np


def get_inputs():
    """Packed pairs x [160, 192]."""
    return [np.random.standard_normal((160, 192)).astype(np.float32)]


def length(x):
    """The norm of each row, clamped."""
    return np.maximum(np.sqrt(np.square(x).sum(axis=-1, keepdims=True)), np.float32(1e-8))


def forward(x):
    """The cosines [160, 1]."""
    one, other = x[:, :96], x[:, 96:]
    return (one * other).sum(axis=-1, keepdims=True) / (length(one) * length(other))
