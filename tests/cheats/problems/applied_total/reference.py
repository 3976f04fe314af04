"""Accumulates gradients in place, and gives what is applied: the sum, clipped to +-100."""

import numpy as np


def get_inputs():
    """total [128, 64], g [128, 64]."""
    return [np.random.standard_normal((128, 64)).astype(np.float32) for _ in range(2)]


def forward(total, g):
    """The clipped sum, and the sum in its own memory."""
    total += g
    return np.clip(total, -100.0, 100.0), total
