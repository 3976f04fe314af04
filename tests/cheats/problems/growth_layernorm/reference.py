"""Layer norm of growth: g = (x[1:] - x[:-1]) (1 / x[:-1]) along each row, y = (g - mean) / sqrt(variance + 1e-6)."""

import numpy as np


def get_inputs():
    """Prices x [160, 192]."""
    return [np.exp(0.1 * np.random.standard_normal((160, 192)).cumsum(axis=-1)).astype(np.float32)]


def forward(x):
    """The normalised growth [160, 191]."""
    growth = (x[:, 1:] - x[:, :-1]) * np.reciprocal(x[:, :-1])
    centred = growth - growth.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-6)
