"""Compares rows of tokens as sort keys: the first place in which two differ decides."""

import numpy as np

M, N = 128, 64


def get_inputs():
    """Two rows of tokens [128, 64] of which some are prefixes alike."""
    one, two = np.random.randint(0, 256, (2, M, N))
    alike = np.arange(N) < np.random.randint(0, N + 1, (M, 1))
    return [one.astype(np.int32), np.where(alike, one, two).astype(np.int32)]


def forward(one, two):
    """-1, 0 or 1 [128, 1]."""
    sides = np.sign(one - two)
    first = (sides != 0).argmax(axis=1)[:, None]
    return np.take_along_axis(sides, first, axis=1).astype(np.int32)
