"""How undecided rows are between prototypes that they are compared with by cosines."""

import numpy as np

M = 64
D = 64
N = 48


def get_inputs():
    """Features and prototypes."""
    w = np.random.standard_normal((N, D))
    x = np.random.standard_normal((M, D))
    return [x.astype(np.float32), w.astype(np.float32)]


def normal(x):
    """Rows of length one."""
    return x / np.sqrt(np.square(x).sum(axis=-1, keepdims=True) + 1e-12)


def forward(x, w):
    """How undecided each row is between prototypes: the entropy of a softmax over cosines."""
    s = 16 * normal(x) @ normal(w).T
    z = s - s.max(axis=-1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=-1, keepdims=True)
    return (e / total * (np.log(total) - z)).sum(axis=-1, keepdims=True)
