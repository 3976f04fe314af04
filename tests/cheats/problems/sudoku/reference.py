"""Which boards are solved sudokus."""

import numpy as np

M = 64


def get_inputs():
    """board [M, 81]: solved ones; in every second one a field is another."""
    boards = np.zeros((M, 9, 9), np.int64)
    for one in range(M):
        rows = np.concatenate([3 * band + np.random.permutation(3) for band in np.random.permutation(3)])
        columns = np.concatenate([3 * band + np.random.permutation(3) for band in np.random.permutation(3)])
        digits = np.random.permutation(9) + 1
        boards[one] = digits[
            (3 * (rows % 3) + rows // 3)[:, None]
            + columns
            - 9 * (((3 * (rows % 3) + rows // 3)[:, None] + columns) // 9)
        ]
    boards = boards.reshape(M, 81)
    boards[::2][np.arange(M // 2), np.random.randint(0, 81, M // 2)] = np.random.randint(1, 10, M // 2)
    return [boards.astype(np.uint8)]


def forward(board):
    """One where each row, column and box has every digit, else zero [M, 1]."""
    right = np.ones(len(board), bool)
    for digit in range(1, 10):
        has = (board == digit).reshape(len(board), 9, 9)
        right &= has.any(axis=2).all(axis=1) & has.any(axis=1).all(axis=1)
        right &= has.reshape(len(board), 3, 3, 3, 3).any(axis=(2, 4)).all(axis=(1, 2))
    return right.astype(np.float32)[:, None]
