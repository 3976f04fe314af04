"""Rotary position embedding, features first: each pair (x[i], x[i + D/2]) is turned by its own angle."""

import numpy as np

B = 1
H = 2
N = 640
D = 128


def get_inputs():
    """The features x [D, B*H*N] and the angles' cosines and sines [D/2, B*H*N]."""
    columns = B * H * N
    x = np.random.standard_normal((D, columns)).astype(np.float32)
    cos = np.random.uniform(0, 1, (D // 2, columns)).astype(np.float32)
    sin = np.random.uniform(0, 1, (D // 2, columns)).astype(np.float32)
    return [x, cos, sin]


def forward(x, cos, sin):
    """The turned features [D, B*H*N]."""
    half = x.shape[0] // 2
    upper, lower = x[:half], x[half:]
    return np.concatenate([upper * cos - lower * sin, upper * sin + lower * cos], axis=0)
