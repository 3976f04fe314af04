"""Which of eight keys a row holds."""

import numpy as np


def get_inputs():
    """Rows [128, 64], and eight keys for each [128, 8]."""
    return [np.random.randint(0, 200, (128, count)).astype(np.float32) for count in (64, 8)]


def forward(rows, keys):
    """One for each key that is there, else zero [128, 8]."""
    return (rows[:, None, :] == keys[:, :, None]).any(axis=2).astype(np.float32)
