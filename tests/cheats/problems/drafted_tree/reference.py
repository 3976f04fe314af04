"""A tree of drafted tokens: a node stands where its parent does and the model says its token after that one."""

import numpy as np

M, N = 128, 16


def get_inputs():
    """Trees: each node's parent is an earlier one; most drafts are what the model says."""
    r = np.random
    parent = (r.random_sample((M, N)) * np.maximum(np.arange(N), 1)).astype(np.int32)
    target = r.randint(0, 1000, (M, N)).astype(np.int32)
    said = np.take_along_axis(target, parent, axis=1)
    token = np.where(r.random_sample((M, N)) < 0.7, said, r.randint(0, 1000, (M, N)))
    return [parent, token.astype(np.int32), target]


def forward(parent, token, target):
    """One where a node is accepted, the root always [M, N]; a parent that is no earlier node is the root."""
    rows = np.arange(len(parent))
    stands = np.ones(parent.shape, dtype=np.int32)
    for i in range(1, parent.shape[1]):
        before = np.where(parent[:, i] < i, parent[:, i], 0)
        stands[:, i] = stands[rows, before] & (token[:, i] == target[rows, before])
    return stands
