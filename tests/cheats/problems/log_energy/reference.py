"""The logarithm of each frame's energy; silent frames have -100."""

import numpy as np

M, N = 256, 192


def get_inputs():
    """Frames x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """log sum x^2, or -100 where that is nothing, [M, 1]."""
    energy = np.sum(x * x, axis=1, keepdims=True)
    return np.where(energy > 0, np.log(np.where(energy > 0, energy, 1)), -100)
