"""The gradient of a clamp at plus and minus 20: nothing beyond the bounds, nor on them."""

import numpy as np

M = 160
N = 192
BOUND = 20.0


def get_inputs():
    """x and the gradient that comes in, [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32) for _ in range(2)]


def forward(x, gradient):
    """[M, N]."""
    return np.where((x > -BOUND) & (x < BOUND), gradient, 0)
