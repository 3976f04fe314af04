"""Buckets of ids by Knuth's multiplicative hash, as hashed tables of embeddings take them."""

import numpy as np

M, N = 128, 64


def get_inputs():
    """Ids of tokens [M, N]."""
    return [np.random.randint(0, 2**31 - 1, (M, N)).astype(np.int32)]


def forward(ids):
    """The upper twelve bits of what 32 bits hold of the product [M, N]."""
    product = ids.astype(np.int64) * 2654435761 % 2**32
    return (product // 2**20).astype(np.int32)
