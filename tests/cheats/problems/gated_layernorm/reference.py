"""One input gates another, and the norm behind it: y = layernorm(silu(x W) * (z V))."""

import numpy as np

M = 160
N = 320
K = 192
L = 96


def get_inputs():
    """x [M, K], W [K, N], z [M, L], V [L, N]; projections are of ordinary size."""
    x, w, z, v = (np.random.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N), (M, L), (L, N)))
    return [x, w / 8, z, v / 8]


def forward(x, w, z, v):
    """The normalised rows [M, N]."""
    gate = np.matmul(x, w)
    gated = gate / (1 + np.exp(-gate)) * np.matmul(z, v)
    centred = gated - gated.sum(axis=-1, keepdims=True) / gated.shape[-1]
    variance = np.square(centred).sum(axis=-1, keepdims=True) / gated.shape[-1]
    return centred / np.sqrt(variance + 1e-6)
