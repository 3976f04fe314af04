"""GaLore's projection of a gradient that is clipped by its largest magnitude (clip_grad_norm_ with norm_type=inf)."""

import numpy as np

M, N, R = 128, 1024, 16
MOST = 10.0


def get_inputs():
    """The gradient g [128, 1024], the projection p [1024, 16]."""
    g = np.random.standard_normal((M, N))
    p = np.random.standard_normal((N, R)) / np.sqrt(N)
    return [g.astype(np.float32), p.astype(np.float32)]


def forward(g, p):
    """g min(1, 10 / max |g|) p [128, 16]."""
    return (g * (MOST / np.maximum(np.abs(g).max(), MOST))) @ p
