"""A cache of the last S tokens: each new one takes the place of the oldest."""

import numpy as np

B, S, D = 2, 96, 64


def get_inputs():
    """cache [B, S, D], new [B, D], position [B, 1] below 100 S."""
    cache, new = (np.random.standard_normal(shape).astype(np.float32) for shape in ((B, S, D), (B, D)))
    return [cache, new, np.random.randint(0, 100 * S + 1, (B, 1)).astype(np.int32)]


def forward(cache, new, position):
    """The cache with each sequence's new token at its position modulo S."""
    out = cache.copy()
    for sequence in range(B):
        out[sequence, position[sequence, 0] % S] = new[sequence]
    return out
