"""The maximum of each column."""

import numpy as np


def get_inputs():
    """Numbers x [512, 8]."""
    return [np.random.standard_normal((512, 8)).astype(np.float32)]


def forward(x):
    """The maxima [1, 8]."""
    return x.max(axis=0, keepdims=True)
