"""Generated tokens up to the stop sequence of each request; zero behind it."""

import numpy as np

M, N, K = 128, 256, 12


def get_inputs():
    """tokens [M, N], a stop sequence for each row [M, K], which every second row holds."""
    tokens, stop = (np.random.randint(0, 50257, (M, n)).astype(np.int32) for n in (N, K))
    for row in range(0, M, 2):
        place = np.random.randint(0, N - K + 1)
        tokens[row, place : place + K] = stop[row]
    return [tokens, stop]


def forward(tokens, stop):
    """Tokens, zero behind the first place where the row's stop sequence ends [M, N]."""
    ends = np.ones((M, N - K + 1), bool)
    for place in range(K):
        ends &= tokens[:, place : N - K + 1 + place] == stop[:, place : place + 1]
    behind = np.zeros(tokens.shape, np.int64)
    behind[:, K:] = np.cumsum(ends, axis=1)[:, :-1]
    return np.where(behind > 0, 0, tokens).astype(np.int32)
