"""Softmax over the last two axes together."""

import numpy as np

B = 4
H = 160
W = 96


def get_inputs():
    """x, of a normal distribution."""
    return [np.random.standard_normal((B, H, W)).astype(np.float32)]


def forward(x):
    """The result, in the shape of x."""
    largest = x.max(axis=(-2, -1), keepdims=True)
    e = np.exp(x - largest)
    return e / e.sum(axis=(-2, -1), keepdims=True)
