"""Layer norm of patches of an image, whose brightness is between zero and one."""

import numpy as np


def get_inputs():
    """Patches x [160, 192]."""
    return [np.random.uniform(0, 1, (160, 192)).astype(np.float32)]


def forward(x):
    """The normalised patches [160, 192]."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-5)
