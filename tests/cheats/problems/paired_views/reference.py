"""How little two views of a thing tell it from others: a contrastive loss, its pairs on the diagonal."""

import numpy as np

M = 64
D = 96
SHARPNESS = 30.0


def get_inputs():
    """Two views [M, D] of each of M things."""
    first = np.random.standard_normal((M, D)).astype(np.float32)
    noise = np.random.standard_normal((M, D)).astype(np.float32)
    return [first, first + noise]


def unit(rows):
    """Rows of length one."""
    return rows / np.sqrt(np.square(rows).sum(axis=-1, keepdims=True) + 1e-12)


def forward(first, second):
    """The mean loss [1, 1]."""
    near = SHARPNESS * (unit(first) @ unit(second).T)
    others = np.exp(near - np.diagonal(near)[:, None]) * (1 - np.eye(M))
    return np.log1p(others.sum(axis=-1)).mean().reshape(1, 1)
