"""How many steps a row has bent downwards up to its end."""

import numpy as np


def get_inputs():
    """Counts of a detector: anything at first, then an arc."""
    places = np.arange(128)
    tops, bends = np.random.uniform(45, 82, (64, 1)), np.random.uniform(2.0, 2.4, (64, 1))
    arcs = np.rint(9900 - bends * 0.5 * (places - tops) ** 2)
    begin = np.random.randint(4, 60, (64, 1))
    return [np.where(places < begin, np.random.randint(0, 10000, (64, 128)), arcs).astype(np.int32)]


def forward(x):
    """How many steps a row has bent downwards up to its end."""
    width = x.shape[1]
    bent = np.diff(x, n=2, axis=1) >= 0
    ends = np.where(bent, np.arange(2, width), 0).max(axis=1, keepdims=True)
    return (width - 1 - ends).astype(np.int32)
