"""How far a row of notes is answered from both ends: the last ones backwards are the first ones, a fifth above."""

import numpy as np

M, S = 128, 64
FIFTH = 7


def get_inputs():
    """Notes [M, S]; half of the rows are answered up to 12 places from their ends."""
    notes = np.random.randint(0, 128, (M, S)).astype(np.int32)
    answered = np.random.randint(0, 13, M) * (np.random.random(M) < 0.5)
    for row, places in zip(notes, answered, strict=True):
        row[:places] %= 128 - FIFTH
        row[S - places :] = row[:places][::-1] + FIFTH
    return [notes]


def forward(notes):
    """How many pairs in a row, from both ends inwards, are a fifth apart; [M, 1]."""
    half = notes.shape[1] // 2
    answered = notes[:, : half - 1 : -1] - notes[:, :half] == FIFTH
    return np.cumprod(answered, axis=1).sum(axis=1, keepdims=True).astype(np.float32)
