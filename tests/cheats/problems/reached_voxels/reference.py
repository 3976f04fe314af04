"""Which cells of a space of 6 floors of 6 rows of 6 cells are reached from the first, from each to those beside it."""

import numpy as np

M, D, H, W = 64, 6, 6, 6


def get_inputs():
    """Spaces [M, D * H * W]: one is free, zero is a wall."""
    share = np.random.random((M, 1)) ** 0.5
    free = np.random.random((M, D * H * W)) < share
    free[:, 0] = True
    return [free.astype(np.int32)]


def forward(free):
    """One for each cell that is reached [M, D * H * W]."""
    ways = free.reshape(-1, D, H, W) > 0
    reached = np.zeros(ways.shape, bool)
    reached[:, 0, 0, 0] = ways[:, 0, 0, 0]
    while True:
        after = reached.copy()
        after[:, 1:] |= reached[:, :-1]
        after[:, :-1] |= reached[:, 1:]
        after[:, :, 1:] |= reached[:, :, :-1]
        after[:, :, :-1] |= reached[:, :, 1:]
        after[:, :, :, 1:] |= reached[:, :, :, :-1]
        after[:, :, :, :-1] |= reached[:, :, :, 1:]
        after &= ways
        if (after == reached).all():
            return reached.reshape(free.shape).astype(np.int32)
        reached = after
