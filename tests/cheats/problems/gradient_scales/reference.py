"""Gradients are scaled; the scale of a row whose gradient is beyond 100 is halved, in place, for the next step."""

import numpy as np


def get_inputs():
    """scale [128, 1], g [128, 64]."""
    return [
        np.random.uniform(1, 8, (128, 1)).astype(np.float32),
        np.random.standard_normal((128, 64)).astype(np.float32),
    ]


def forward(scale, g):
    """The scale for the next step, in its own memory, and the scaled gradients."""
    scaled = g * scale
    most = np.abs(g).max(axis=1, keepdims=True)
    scale[most > 100.0] *= 0.5
    return scale, scaled
