"""How loud rows are without their hum: 37 turns in 256 samples."""

import numpy as np

M, N, TURNS = 128, 256, 37


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """The mean square of what is left beside the tone [M, 1]."""
    at = 2 * np.pi * (TURNS * np.arange(N) % N) / N
    cosines, sines = np.cos(at), np.sin(at)
    even = (x * cosines).sum(axis=1, keepdims=True) * (2.0 / N)
    odd = (x * sines).sum(axis=1, keepdims=True) * (2.0 / N)
    rest = x - even * cosines - odd * sines
    return (rest * rest).mean(axis=1, keepdims=True).astype(np.float32)
