"""Rotary embedding as a product of complex numbers: neighbours are a pair, and each pair has an angle of its own."""

import numpy as np

M, N = 128, 32


def get_inputs():
    """Features x [128, 64] and angles within half a turn [128, 32]."""
    x = np.random.standard_normal((M, 2 * N)).astype(np.float32)
    return [x, np.random.uniform(-3, 3, (M, N)).astype(np.float32)]


def forward(x, angles):
    """The turned pairs [128, 64]."""
    pairs = x.reshape(len(x), -1, 2)
    real, imaginary = pairs[..., 0], pairs[..., 1]
    cosine, sine = np.cos(angles), np.sin(angles)
    turned = np.stack([real * cosine - imaginary * sine, real * sine + imaginary * cosine], axis=-1)
    return turned.reshape(x.shape)
