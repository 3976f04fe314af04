"""Cholesky factors of small matrices of correlations."""

import numpy as np

M, N = 128, 8


def get_inputs():
    """Correlations of 24 samples each, a matrix a row [M, N * N]."""
    samples = np.random.standard_normal((M, N, 3 * N))
    products = samples @ samples.transpose(0, 2, 1)
    sizes = np.sqrt(np.einsum("bii->bi", products))
    return [(products / sizes[:, :, None] / sizes[:, None, :]).reshape(M, N * N).astype(np.float32)]


def forward(a):
    """The lower factors, with zeros above [M, N * N]: lower triangles are read."""
    a = a.reshape(-1, N, N)
    lower = np.zeros_like(a)
    for j in range(N):
        rest = a[:, j:, j] - (lower[:, j:, :j] * lower[:, j : j + 1, :j]).sum(axis=2)
        lower[:, j:, j] = rest / np.sqrt(rest[:, :1])
    return lower.reshape(-1, N * N)
