"""Connected components of a padded graph (senders, receivers, which edges count): each node's smallest companion."""

import numpy as np

E, V = 128, 128


def get_inputs():
    """senders, receivers [E, 1], kept [E, 1]."""
    ends = np.random.randint(0, V, (2, E, 1)).astype(np.int32)
    return [ends[0], ends[1], np.random.randint(0, 2, (E, 1)).astype(np.int32)]


def forward(senders, receivers, kept):
    """[V, 1]."""
    label = np.arange(128)
    one = senders[kept[:, 0] == 1, 0]
    two = receivers[kept[:, 0] == 1, 0]
    before = None
    while not np.array_equal(before, label):
        before = label.copy()
        least = np.minimum(label[one], label[two])
        np.minimum.at(label, one, least)
        np.minimum.at(label, two, least)
    return label[:, None].astype(np.int32)
