"""The length of the longest row of tokens that two rows have in common, with gaps."""

import numpy as np


def get_inputs():
    """Two rows of tokens [16, 20]."""
    return [np.random.randint(0, 6, (16, 20)).astype(np.int32) for _ in range(2)]


def forward(one, other):
    """So many for each pair of rows [16, 1]."""
    found = np.zeros((len(one), one.shape[1] + 1))
    for token in range(one.shape[1]):
        best = found.copy()
        best[:, 1:] = np.maximum(best[:, 1:], found[:, :-1] + (other == one[:, token : token + 1]))
        found = np.maximum.accumulate(best, axis=1)
    return found[:, -1:].astype(np.float32)
