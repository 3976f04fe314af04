"""Expert choice: each expert's 16 best scores among all tokens, the largest first."""

import numpy as np

T, E = 2016, 4


def get_inputs():
    """x [T, E]."""
    return [np.random.standard_normal((T, E)).astype(np.float32)]


def forward(x):
    """[E, 16]."""
    return np.sort(x.T, axis=-1)[:, :-17:-1]
