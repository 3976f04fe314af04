"""A running average that is updated in place, as caches are."""

import numpy as np

M = 160
N = 96


def get_inputs():
    """Own draws."""
    return [np.random.standard_normal((M, N)).astype(np.float32) for _ in range(2)]


def forward(average, x):
    """Moves a quarter of the way, in the average's own memory."""
    average *= 0.75
    average += 0.25 * x
    return average
