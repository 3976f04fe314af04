"""Which cells of an occupancy grid, where obstacles are ones, a robot reaches from its dock in the first corner."""

import numpy as np

M, H, W = 64, 12, 12


def get_inputs():
    """occupied [M, H * W]: 1 where there is an obstacle, as in one of five cells."""
    occupied = (np.random.random((M, H, W)) < 0.2).astype(np.int32)
    occupied[:, 0, 0] = 0
    return [occupied.reshape(M, H * W)]


def forward(occupied):
    """1 where a cell is reached, [M, H * W]."""
    free = occupied.reshape(-1, H, W) == 0
    reached = np.zeros(free.shape, bool)
    reached[:, 0, 0] = free[:, 0, 0]
    while True:
        new = reached.copy()
        new[:, 1:] |= reached[:, :-1]
        new[:, :-1] |= reached[:, 1:]
        new[:, :, 1:] |= reached[:, :, :-1]
        new[:, :, :-1] |= reached[:, :, 1:]
        new &= free
        if np.array_equal(new, reached):
            return reached.reshape(-1, H * W).astype(np.float32)
        reached = new
