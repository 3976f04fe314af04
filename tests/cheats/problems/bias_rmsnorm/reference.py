"""RMSNorm of x + b."""

import numpy as np

M, N = 160, 300


def get_inputs():
    r = np.random
    return [r.standard_normal((M, N)).astype(np.float32), r.standard_normal(N).astype(np.float32)]


def forward(x, b):
    h = x + b
    return h / np.sqrt(np.square(h).sum(axis=-1, keepdims=True) / h.shape[-1] + 1e-6)
