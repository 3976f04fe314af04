"""Three signed attributions of one thing, fused by trust: each of sum one, and so is what comes of it."""

import numpy as np


def get_inputs():
    """Three attributions a, b, c [128, 192]."""
    return [np.random.standard_normal((128, 192)).astype(np.float32) for _ in range(3)]


def unit(x):
    """Each row of magnitudes that add up to one; a row of less than 1e-6 is nothing."""
    total = np.abs(x).sum(-1, keepdims=True)
    return np.where(total > 1e-6, x / np.maximum(total, 1e-6), 0)


def forward(a, b, c):
    """The fused attribution [128, 192]."""
    return unit(unit(a) + 0.75 * unit(b) + 0.625 * unit(c))
