"""The sum of two squashed branches, normed: no branch is a term itself, so what cancels it has to be searched."""

import numpy as np


def get_inputs():
    """The branches x and z [128, 48]."""
    return [np.random.standard_normal((128, 48)).astype(np.float32) for _ in range(2)]


def forward(x, z):
    """The sum in units of its root mean square [128, 48]."""
    total = 2.0 * np.tanh(x) + 3.0 * np.tanh(z)
    return total / np.sqrt(np.square(total).mean(axis=1, keepdims=True) + 1e-6)
