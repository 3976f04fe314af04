"""Whether generated tokens run in a loop: the shortest phrase that their end has three times in a row."""

import numpy as np

M, N, LONGEST = 128, 96, 16


def get_inputs():
    """tokens [M, N]: every second row ends with a phrase of up to sixteen tokens, three times or more."""
    tokens = np.random.randint(0, 32000, (M, N)).astype(np.int32)
    for row in range(0, M, 2):
        length, times = np.random.randint(1, LONGEST + 1), np.random.randint(3, 6)
        tokens[row, -length * times :] = np.tile(tokens[row, :length], times)
    return [tokens]


def forward(tokens):
    """The phrase's length, zero where there is none [M, 1]."""
    found = np.zeros((len(tokens), 1))
    for length in range(LONGEST, 0, -1):
        end = tokens[:, -3 * length :]
        loop = (end[:, length:] == end[:, :-length]).all(axis=1, keepdims=True)
        found = np.where(loop, length, found)
    return found.astype(np.float32)
