"""Binary cross entropy with logits, its mean over everything."""

import numpy as np


def get_inputs():
    """Logits x [160, 192] and labels y [160, 192], zero or one."""
    x = np.random.standard_normal((160, 192)).astype(np.float32)
    return [x, np.random.randint(0, 2, (160, 192)).astype(np.uint8)]


def forward(x, y):
    """The mean loss [1, 1]."""
    losses = np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))
    return losses.mean().reshape(1, 1)
