"""Latent attention: keys and values are made of what the cache holds."""

import numpy as np

Q, S, C, D = 64, 96, 24, 32


def get_inputs():
    """q, the cache of latents c, and what makes keys and values of them."""
    draw = np.random.standard_normal
    arrays = draw((Q, D)), draw((S, C)), draw((C, D)) / 5, draw((C, D)) / 5
    return [array.astype(np.float32) for array in arrays]


def forward(q, c, wk, wv):
    """softmax(q k^T / sqrt(D)) v."""
    s = q @ (c @ wk).T / np.float32(D**0.5)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ (c @ wv)
