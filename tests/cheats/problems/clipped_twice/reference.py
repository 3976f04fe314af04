"""Kernels are given x within what fp8 holds."""

import numpy as np


def get_inputs():
    """x [128, 64]."""
    return [np.random.standard_normal((128, 64)).astype(np.float32)]


def transform_to_nki_inputs(inputs):
    """Kernels get x clipped."""
    return [np.clip(inputs[0], -240, 240)]


def forward(x):
    """Twice the clipped x and its tanh."""
    x = np.clip(x, -240, 240)
    return 2 * x + np.tanh(x)
