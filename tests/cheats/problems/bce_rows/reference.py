"""Binary cross entropy of each row, its labels floats that are zero or one."""

import numpy as np


def get_inputs():
    """Logits x [160, 192] and labels t [160, 192]."""
    x = np.random.standard_normal((160, 192)).astype(np.float32)
    return [x, (np.random.random((160, 192)) < 0.5).astype(np.float32)]


def forward(x, t):
    """Each row's mean loss [160, 1]."""
    tail = np.log1p(np.exp(-np.abs(x)))
    return (t * (np.maximum(-x, 0) + tail) + (1 - t) * (np.maximum(x, 0) + tail)).mean(axis=-1, keepdims=True)
