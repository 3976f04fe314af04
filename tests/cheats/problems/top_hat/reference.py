"""How far each number lies below the largest of it and its neighbours, at one strength in every row."""

import numpy as np


def get_inputs():
    """Rows x [256, 192]."""
    return [np.random.standard_normal((256, 192)).astype(np.float32)]


def forward(x):
    """All but the ends of each row [256, 190]."""
    inner = x[:, 1:-1]
    below = np.maximum(np.maximum(x[:, :-2], inner), x[:, 2:]) - inner
    return below / np.sqrt(np.square(below).mean(axis=-1, keepdims=True) + 1e-12)
