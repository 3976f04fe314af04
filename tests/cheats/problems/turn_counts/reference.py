"""Where a shaft stands within its turn, of 100000 counts each."""

import numpy as np

M, N = 64, 2
TURN = 100000


def get_inputs():
    """counts [64, 2]."""
    return [np.random.randint(0, 16000001, (M, N)).astype(np.int32)]


def forward(counts):
    """Counts since the last whole turn [64, 2]."""
    return (counts % TURN).astype(np.int32)
