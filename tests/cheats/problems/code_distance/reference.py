"""The minimum Hamming distance of a code: the fewest bits in which two of N code words differ."""

import numpy as np

N, D = 257, 48


def get_inputs():
    """Code words x [N, D], a bit to an element."""
    return [np.random.randint(0, 2, (N, D)).astype(np.int32)]


def forward(x):
    """[1, 1]."""
    apart = (x[:, None, :] != x[None, :, :]).sum(axis=-1)
    one, other = np.triu_indices(x.shape[0], 1)
    return apart[one, other].min().reshape(1, 1).astype(np.int32)
