"""A normalisation whose epsilon is that of its input's format."""

import numpy as np


def get_inputs():
    """x [160, 192]."""
    return [np.random.standard_normal((160, 192)).astype(np.float32)]


def forward(x):
    """Each row less its mean, over its deviation [160, 192]."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.finfo(x.dtype).eps)
