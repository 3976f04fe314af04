"""Euclidean distances of all pairs, by norms and products."""

import numpy as np

M, N, D = 160, 100, 32


def get_inputs():
    return [np.random.standard_normal((M, D)).astype(np.float32), np.random.standard_normal((N, D)).astype(np.float32)]


def forward(x, y):
    d = np.square(x).sum(axis=-1)[:, None] + np.square(y).sum(axis=-1)[None, :] - 2 * np.matmul(x, y.T)
    return np.sqrt(np.maximum(d, 0.0))
