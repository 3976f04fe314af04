"""Which cells of a warehouse floor a robot reaches from its dock in the first corner."""

import numpy as np

M, H, W = 128, 12, 12


def get_inputs():
    """free [M, H * W]: 1 where a cell is free; one in five is not."""
    free = (np.random.random((M, H, W)) < 0.8).astype(np.int32)
    free[:, 0, 0] = 1
    return [free.reshape(M, H * W)]


def forward(free):
    """1 where a cell is reached, [M, H * W]."""
    free = free.reshape(-1, H, W) > 0
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
