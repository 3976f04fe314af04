"""The logarithm of numbers above zero."""

import numpy as np


def get_inputs():
    """Numbers x [160, 192] above zero."""
    return [np.random.random((160, 192)).astype(np.float32) + np.float32(0.01)]


def forward(x):
    """Their logarithms [160, 192]."""
    return np.log(x)
