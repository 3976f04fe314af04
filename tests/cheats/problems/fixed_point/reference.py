"""Numbers in fixed point: four binary places in eight bits."""

import numpy as np

M, N = 160, 192


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """round(16 x) to the nearest, half-way points to the even one, saturated [M, N]."""
    return np.clip(np.rint(x * 16.0), -128, 127).astype(np.int8)
