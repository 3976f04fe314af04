"""Sums of numbers of 128 bits, in words of sixteen, the lowest first."""

import numpy as np

M, N = 128, 8


def get_inputs():
    """Two numbers a row [M, N]."""
    return [np.random.randint(0, 65536, (M, N)).astype(np.uint16) for _ in range(2)]


def forward(one, other):
    """What is beyond the last word is left out [M, N]."""
    words, carry = np.zeros(one.shape, np.float32), np.zeros(len(one), np.int64)
    for word in range(N):
        total = one[:, word].astype(np.int64) + other[:, word] + carry
        carry = total >> 16
        words[:, word] = total & 0xFFFF
    return words
