"""Word errors (jiwer, NIST's sclite): words left out, put in or exchanged between what was heard and what was said."""

import numpy as np

M, K, L = 128, 32, 40


def get_inputs():
    """heard [M, 40], said [M, 32]: eight words are put in anywhere, some are taken for others."""
    said = np.random.randint(0, 1000, (M, K))
    heard = np.random.randint(0, 1000, (M, L))
    for row in range(M):
        kept = np.sort(np.random.permutation(L)[:K])
        heard[row, kept] = said[row]
        wrong = np.random.permutation(L)[: np.random.randint(0, 6)]
        heard[row, wrong] = np.random.randint(0, 1000, len(wrong))
    return [heard.astype(np.int32), said.astype(np.int32)]


def forward(heard, said):
    """[M, 1]."""
    places = np.arange(heard.shape[1] + 1)
    steps = np.tile(places, (len(said), 1))
    for word in said.T:
        best = steps + 1
        best[:, 1:] = np.minimum(best[:, 1:], steps[:, :-1] + (heard != word[:, None]))
        steps = np.minimum.accumulate(best - places, axis=1) + places
    return steps[:, -1:].astype(np.float32)
