"""A step in place, along weights that kernels are given turned."""

import numpy as np


def get_inputs():
    """x [128, 64], b [64, 128]."""
    return [np.random.standard_normal(s).astype(np.float32) for s in ((128, 64), (64, 128))]


def transform_to_nki_inputs(inputs):
    """x, and b turned."""
    return [inputs[0], np.ascontiguousarray(inputs[1].T)]


def forward(x, b):
    """x is moved in place by b turned."""
    x *= 0.5
    x += 2 * b.T
    return x
