"""Tokens that are not the one before; nothing where they are."""

import numpy as np

M, N = 128, 64


def get_inputs():
    """tokens [M, N] of a million, one in five the one before."""
    tokens = np.random.randint(0, 1000000, (M, N)).astype(np.int32)
    for place in range(1, N):
        again = np.random.random(M) < 0.2
        tokens[again, place] = tokens[again, place - 1]
    return [tokens]


def forward(tokens):
    """[M, N]."""
    kept = tokens.copy()
    kept[:, 1:] = np.where(tokens[:, 1:] == tokens[:, :-1], 0, tokens[:, 1:])
    return kept
