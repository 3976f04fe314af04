"""How far each of two orientations (quaternions, of any length) is from the other as a fixed mount turns it."""

import numpy as np

N = 64
TURN = (0.8, 0.6)
"""The mount's cosine and sine."""


def get_inputs():
    """Four parts of the one and four of the other, each [128, N]."""
    return [np.random.randn(128, N).astype(np.float32) for _ in range(8)]


def forward(a0, a1, a2, a3, b0, b1, b2, b3):
    """[128, N]: the square of the sine between the one and the other, turned."""
    cosine, sine = np.float32(TURN[0]), np.float32(TURN[1])
    b0, b1, b2, b3 = cosine * b0 - sine * b1, cosine * b1 + sine * b0, cosine * b2 + sine * b3, cosine * b3 - sine * b2
    first, second = (a0, a1, a2, a3), (b0, b1, b2, b3)
    apart = 0
    for n in range(4):
        for m in range(n):
            part = first[n] * second[m] - first[m] * second[n]
            apart = apart + part * part
    one = a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3
    other = b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3
    return apart / (one * other)
