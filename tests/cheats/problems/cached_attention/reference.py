"""One token's attention to the keys of a cache up to its position; heads share them in groups."""

import numpy as np

B = 2
H = 4
G = 2
S = 256
D = 64


def get_inputs():
    """Own draws."""
    r = np.random
    return [
        r.standard_normal((B, H, D)).astype(np.float32),
        r.standard_normal((B, G, S, D)).astype(np.float32),
        r.standard_normal((B, G, S, D)).astype(np.float32),
        r.randint(0, S, (B, 1)).astype(np.int32),
    ]


def forward(q, k, v, pos):
    """Attention [B, H, D]."""
    out = []
    for b in range(B):
        for h in range(H):
            g = h // (H // G)
            s = np.matmul(k[b, g], q[b, h]) * 0.125
            keep = np.arange(S) <= pos[b, 0]
            s = np.where(keep, s, -1e30)
            e = np.exp(s - s.max()) * keep
            out.append(np.matmul(e / e.sum(), v[b, g]))
    return np.stack(out).reshape(B, H, D)
