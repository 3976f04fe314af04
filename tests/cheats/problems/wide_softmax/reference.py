"""Softmax along rows."""

import numpy as np

M, N = 4, 2400


def get_inputs():
    return [np.random.standard_normal((M, N)).astype(np.float32)]


def forward(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
