"""The largest word of each frame whose weighted checksum is right; 0 of any other."""

import numpy as np


def get_inputs():
    """Words [128, 32] and the checksum [128, 1] of each row, of which three in ten are wrong."""
    words = np.random.randint(-500, 501, (128, 32)).astype(np.int32)
    sums = (words * np.arange(1, 33)).sum(1, keepdims=True).astype(np.int32)
    sums[np.random.random((128, 1)) < 0.3] += 1
    return [words, sums]


def forward(words, sums):
    """The largest word of each row [128, 1]."""
    right = (words * np.arange(1, 33)).sum(1, keepdims=True) == sums
    return np.where(right, words.max(1, keepdims=True), 0).astype(np.int32)
