"""How many pages follow each one, which names the next page's first slot; 16 N ends a chain, a circle has N."""

import numpy as np

N = 128


def get_inputs():
    """following [N, 1]: chains of pages scattered over the pool, in lengths of up to eight."""
    pages = np.random.permutation(N)
    following = np.full(N, N)
    at = 0
    while at < N:
        length = np.random.randint(1, 9)
        chain = pages[at : at + length]
        following[chain[:-1]] = chain[1:]
        at += length
    return [(16 * following[:, None]).astype(np.int32)]


def forward(following):
    """[N, 1]."""
    leads = np.append(following[:, 0] // 16, 128)
    at, many = leads[:-1], np.zeros(128, np.int32)
    before = None
    while not np.array_equal(before, many) and many.max() < 128:
        before = many.copy()
        many += at < 128
        at = leads[at]
    return np.where(at < 128, 128, many)[:, None].astype(np.int32)
