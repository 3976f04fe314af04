"""How far two views' features are from each other's, and from having nothing to do with one another."""

import numpy as np

M = 128
D = 32
SHARE = 0.005


def get_inputs():
    """Features [M, D] of M things, seen twice."""
    return [np.random.standard_normal((M, D)).astype(np.float32) for _ in range(2)]


def standard(features):
    """Columns without their mean, of strength one."""
    rest = features - features.mean(axis=0, keepdims=True)
    return rest / np.sqrt(np.square(rest).mean(axis=0, keepdims=True) + 1e-5)


def forward(first, second):
    """Correlations [D, D] of features: what those of one with itself miss, and a share of all others, [1, 1]."""
    found = standard(first).T @ standard(second) / M
    same = np.eye(D, dtype=np.float32)
    missed = np.square((found * same).sum(axis=1) - 1).sum()
    return np.reshape(missed + SHARE * np.square(found * (1 - same)).sum(), (1, 1))
