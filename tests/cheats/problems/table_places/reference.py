"""Where numbers would stand in their rows' sorted tables."""

import numpy as np


def get_inputs():
    """Sorted tables [128, 48], and eight numbers for each [128, 8]."""
    tables = np.sort(np.random.randint(0, 1000, (128, 48)), axis=1)
    return [tables.astype(np.float32), np.random.randint(0, 1000, (128, 8)).astype(np.float32)]


def forward(tables, numbers):
    """How many entries of its table are below each number [128, 8]."""
    places = [np.searchsorted(table, wanted) for table, wanted in zip(tables, numbers, strict=True)]
    return np.stack(places).astype(np.float32)
