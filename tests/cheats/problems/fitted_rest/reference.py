"""What the second Legendre polynomial of a phase leaves of rows, typically: a residual of light curves."""

import numpy as np


def get_inputs():
    """Phases [1, 64] and brightness [64, 64]."""
    return [np.random.uniform(0, 1, (1, 64)).astype(np.float32), np.random.standard_normal((64, 64)).astype(np.float32)]


def centred(x):
    """Less its mean."""
    return x - x.mean(axis=1, keepdims=True)


def forward(phase, y):
    """The root of the mean square that a ridge leaves [64, 1]."""
    angle = 2 * phase - 1
    t, y = centred(1.5 * angle * angle - 0.5), centred(y)
    slope = (t * y).sum(axis=1, keepdims=True) / ((t * t).sum(axis=1, keepdims=True) + 1e-2)
    return np.sqrt(np.square(y - slope * t).mean(axis=1, keepdims=True))
