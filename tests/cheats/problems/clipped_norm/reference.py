"""A gradient, scaled down to a norm of five where its own is larger."""

import numpy as np


def get_inputs():
    """The gradient g [128, 48]."""
    return [np.random.standard_normal((128, 48)).astype(np.float32)]


def forward(g):
    """The clipped gradient [128, 48]."""
    norm = np.sqrt(np.square(g).sum())
    return g * np.where(norm > 5.0, 5.0 / np.maximum(norm, 5.0), 1.0)
