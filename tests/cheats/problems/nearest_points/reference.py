"""The twelve nearest points of each query, as squared distances, the nearest first."""

import numpy as np


def get_inputs():
    """Queries [130, 3] and points [3, 192]."""
    return [np.random.standard_normal(shape).astype(np.float32) for shape in ((130, 3), (3, 192))]


def forward(queries, points):
    """Squared distances [130, 12]."""
    apart = queries[:, :, None] - points[None, :, :]
    return np.sort(np.square(apart).sum(axis=1), axis=-1, kind="stable")[:, :12]
