"""Which names are one but for capitals."""

import numpy as np

M, N = 64, 16


def get_inputs():
    """Two names [64, 16] of printable characters, that differ in capitals, and in every other row in a place or two."""
    one = np.random.randint(32, 127, (M, N))
    letters = ((one >= 65) & (one <= 90)) | ((one >= 97) & (one <= 122))
    other = np.where(letters & (np.random.random((M, N)) < 0.5), one ^ 32, one)
    for row in range(0, M, 2):
        for _ in range(np.random.randint(1, 3)):
            other[row, np.random.randint(N)] = np.random.randint(32, 127)
    return [one.astype(np.int32), other.astype(np.int32)]


def lower(text):
    """Small letters for capitals."""
    return np.where((text >= 65) & (text <= 90), text + 32, text)


def forward(one, other):
    """One where they are, else zero [64, 1]."""
    return (lower(one) == lower(other)).all(axis=1, keepdims=True).astype(np.float32)
