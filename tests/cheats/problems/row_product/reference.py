"""The product of each row, as probabilities of independent events are joined."""

import numpy as np

M, N = 160, 192


def get_inputs():
    """x [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    """prod(1 + tanh(x) / 10) of each row [M, 1]."""
    return np.prod(1 + 0.1 * np.tanh(x), axis=-1, keepdims=True)
