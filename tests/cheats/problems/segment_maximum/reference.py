"""The maximum of each segment of rows, told by ids, as of the nodes of each graph of a batch."""

import numpy as np


def get_inputs():
    """Numbers x [256, 8], the segment ids [256] of their rows."""
    x = np.random.standard_normal((256, 8)).astype(np.float32)
    return [x, np.random.randint(0, 16, 256).astype(np.int32)]


def forward(x, ids):
    """The maxima [16, 8], zero where a segment has no rows."""
    result = np.zeros((16, x.shape[1]), x.dtype)
    for segment in np.unique(ids):
        result[segment] = x[ids == segment].max(axis=0)
    return result
