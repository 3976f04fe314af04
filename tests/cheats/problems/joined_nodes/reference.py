"""Which of a graph's nodes are joined: each is told the smallest number of those that edges lead to."""

import numpy as np

NODES = 48


def get_inputs():
    """Both ends [1, 40] of each edge between 48 nodes."""
    return [np.random.randint(0, NODES, (1, 40)).astype(np.int32) for _ in range(2)]


def forward(one, other):
    """The smallest number [48, 1]."""
    joined = np.eye(NODES, dtype=bool)
    joined[one[0], other[0]] = joined[other[0], one[0]] = True
    least = np.arange(NODES)
    for _ in range(NODES - 1):
        least = np.where(joined, least, NODES).min(axis=-1)
    return least.astype(np.float32)[:, None]
