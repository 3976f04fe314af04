"""Stones of groups that have no liberty: no empty place is beside any stone of theirs."""

import numpy as np

M, B = 64, 13


def get_inputs():
    """Boards [M, B * B]: 0 is empty, 1 is black, 2 is white; full ones, too."""
    free = np.random.random((M, 1)) ** 2
    boards = np.random.randint(1, 3, (M, B * B)) * (np.random.random((M, B * B)) >= free)
    return [boards.astype(np.int32)]


def forward(x):
    """One for each stone whose group has no liberty [M, B * B]."""
    board = np.pad(x.reshape(-1, B, B), ((0, 0), (1, 1), (1, 1)), constant_values=3)
    alive = board == 0
    while True:
        after = alive.copy()
        for axis in (1, 2):
            for way in (1, -1):
                beside, stone = np.roll(alive, way, axis), np.roll(board, way, axis)
                after |= beside & ((stone == 0) | (stone == board)) & (board != 3)
        if (after == alive).all():
            break
        alive = after
    return (~alive[:, 1:-1, 1:-1]).reshape(x.shape).astype(np.int32)
