"""How far a matrix is from a projector's: squares of P P - P."""

import numpy as np


def get_inputs():
    """A matrix [128, 128]."""
    return [(np.random.standard_normal((128, 128)) / np.sqrt(128)).astype(np.float32)]


def forward(p):
    """The squares of P P - P, summed [1, 1]."""
    apart = p @ p - p
    return (apart * apart).sum().reshape(1, 1)
