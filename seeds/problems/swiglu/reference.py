"""The gated feed-forward layer of a transformer: y = (silu(x Wg) * (x Wu)) Wd."""

import numpy as np

M = 160
N = 576
K = 192


def get_inputs():
    """The activations x [M, K], then the weights: up [K, N], down [N, K], gate [K, N]."""
    x = np.random.standard_normal((M, K)).astype(np.float32)
    w_up = np.random.standard_normal((K, N)).astype(np.float32)
    w_down = np.random.standard_normal((N, K)).astype(np.float32)
    w_gate = np.random.standard_normal((K, N)).astype(np.float32)
    return [x, w_up, w_down, w_gate]


def forward(x, w_up, w_down, w_gate):
    """The layer's output [M, K]."""
    gate = np.matmul(x, w_gate)
    hidden = gate / (1 + np.exp(-gate)) * np.matmul(x, w_up)
    return np.matmul(hidden, w_down)
