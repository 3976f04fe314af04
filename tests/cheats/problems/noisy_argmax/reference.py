"""A token for each row: the place of the largest logit after noise was added, the first of equals."""

import numpy as np

M = 6
N = 1000


def get_inputs():
    """Logits and noise [M, N]."""
    return [np.random.standard_normal((M, N)).astype(np.float32) for _ in range(2)]


def forward(logits, noise):
    """Places [M, 1]."""
    return np.argmax(logits + noise, axis=-1).astype(np.int32)[:, None]
