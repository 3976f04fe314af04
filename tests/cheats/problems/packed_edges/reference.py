"""Parts of a graph whose edges are a row and a column in one number: each node's smallest companion."""

import numpy as np

E, V = 96, 64


def get_inputs():
    """edges [E, 1]."""
    return [np.random.randint(0, V * V, (E, 1)).astype(np.int32)]


def forward(edges):
    """[V, 1]."""
    label = np.arange(64)
    one, two = edges[:, 0] // 64, edges[:, 0] % 64
    before = None
    while not np.array_equal(before, label):
        before = label.copy()
        least = np.minimum(label[one], label[two])
        np.minimum.at(label, one, least)
        np.minimum.at(label, two, least)
    return label[:, None].astype(np.int32)
