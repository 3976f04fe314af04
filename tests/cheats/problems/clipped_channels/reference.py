"""Projections limited to +-8 (clip_qkv), times a gain for each channel."""

import numpy as np

M, D = 128, 64
CLIP = 8.0


def get_inputs():
    """x [M, D], gain [D]."""
    return [np.random.randn(M, D).astype(np.float32), np.random.randn(D).astype(np.float32)]


def forward(x, gain):
    """[M, D]."""
    return np.clip(x, -CLIP, CLIP) * gain
