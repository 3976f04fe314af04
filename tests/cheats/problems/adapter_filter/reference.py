"""Reads with an adapter in them are dropped; up to three of its bases may have been read wrongly."""

import numpy as np

M, N = 64, 64
ADAPTER = (0, 2, 0, 3, 1, 2, 2, 0, 0, 2, 0, 2, 1, 0, 1, 0, 1, 2, 3, 1)
WRONG = 3


def get_inputs():
    """reads [M, N]."""
    return [np.random.randint(0, 4, (M, N)).astype(np.uint8)]


def forward(reads):
    """Bases from 1 on, nothing of reads that are dropped [M, N]."""
    last = N - len(ADAPTER) + 1
    right = np.zeros((len(reads), last))
    for place, base in enumerate(ADAPTER):
        right += reads[:, place : place + last] == base
    kept = (right < len(ADAPTER) - WRONG).all(axis=1, keepdims=True)
    return ((reads + 1) * kept).astype(np.float32)
