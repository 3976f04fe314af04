"""Users who share devices, whoever stands between them: each user's smallest companion."""

import numpy as np

E, U, D = 128, 64, 64


def get_inputs():
    """users and devices [E, 1]: who was seen on what."""
    return [np.random.randint(0, U, (E, 1)).astype(np.int32), np.random.randint(0, D, (E, 1)).astype(np.int32)]


def forward(users, devices):
    """[U, 1]."""
    label = np.arange(64)
    one, two = users[:, 0], devices[:, 0]
    before = None
    while not np.array_equal(before, label):
        before = label.copy()
        least = np.full(64, 64)
        np.minimum.at(least, two, label[one])
        np.minimum.at(label, one, least[two])
    return label[:, None].astype(np.int32)
