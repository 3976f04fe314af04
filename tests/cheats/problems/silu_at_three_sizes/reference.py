"""The sigmoid linear unit, y = x / (1 + exp(-x)), of three numbers of rows."""

import numpy as np


def get_inputs():
    """The activations x [400, 256]."""
    return [np.random.standard_normal((400, 256)).astype(np.float32)]


def forward(x):
    """silu(x), [400, 256]."""
    return x / (1 + np.exp(-x))
