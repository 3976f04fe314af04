"""Each embedding, smoothed by the others: weights are a softmax of cosines, its own left out, at temperature 1 / 47."""

import numpy as np

N, D = 128, 64


def get_inputs():
    """Embeddings z [128, 64]."""
    return [np.random.standard_normal((N, D)).astype(np.float32)]


def forward(z):
    """What the others vote for, [128, 64]."""
    u = z / np.sqrt((z * z).sum(-1, keepdims=True) + 1e-12)
    s = np.matmul(u, u.T) * 47.0
    s = np.where(np.eye(N, dtype=bool), -np.inf, s)
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.matmul(e / e.sum(-1, keepdims=True), u)
