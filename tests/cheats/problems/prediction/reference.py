"""What linear prediction leaves of speech, at a strength of one."""

import numpy as np

M, N, TAPS = 128, 96, 4


def get_inputs():
    """Frames of two resonances that noise excites [M, N], and the taps that predict them [M, TAPS]."""
    angles, sizes = np.random.uniform(0.2, 2.9, (2, M)), np.random.uniform(0.8, 0.97, (2, M))
    one, other = np.stack([np.ones((2, M)), -2 * sizes * np.cos(angles), sizes * sizes], axis=1)
    taps = np.zeros((TAPS + 1, M))
    for place in range(3):
        taps[place : place + 3] += one[place] * other
    x = np.random.standard_normal((M, N + 64))
    for place in range(TAPS, N + 64):
        x[:, place] -= (taps[:0:-1].T * x[:, place - TAPS : place]).sum(axis=1)
    return [x[:, 64:].astype(np.float32), -taps[1:].T.astype(np.float32)]


def forward(x, taps):
    """[M, N - TAPS]."""
    rest = x[:, TAPS:]
    for tap in range(TAPS):
        rest = rest - taps[:, tap : tap + 1] * x[:, TAPS - 1 - tap : N - 1 - tap]
    return rest / np.sqrt((rest * rest).mean(axis=1, keepdims=True))
