"""A residual layer that computes into buffers of its own, and keeps them where a mask says so."""

import numpy as np


def get_inputs():
    """x [160, 64], w [64, 64]."""
    return [np.random.standard_normal(shape).astype(np.float32) for shape in ((160, 64), (64, 64))]


def forward(x, w):
    """x + x w, over x where that is above 0.3, and less 0.3 elsewhere [160, 64]."""
    y = np.empty(x.shape, np.float32)
    np.einsum("...j,jk->...k", x, w, out=y)
    y += x
    kept = np.subtract(y, np.array([0.3], np.float32))
    return np.divide(y, x, out=kept, where=x > 0.3)
