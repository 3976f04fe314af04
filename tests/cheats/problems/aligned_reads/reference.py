"""The score of the best local alignment of a read with a target, with affine gaps (Smith, Waterman, Gotoh)."""

import numpy as np

M = 128
N = 48
MATCH, MISMATCH, OPEN, EXTEND = 5, -4, 10, 1


def get_inputs():
    """Reads of a target with errors, a few of them with a gap."""
    r = np.random
    target = r.randint(0, 20, (M, N))
    read = target.copy()
    for row in range(M):
        if r.uniform() < 0.5:
            at, length = r.randint(6, N - 12), r.randint(1, 6)
            read[row, at:] = np.roll(read[row, at:], r.choice([-1, 1]) * length)
    wrong = r.uniform(size=read.shape) < 0.03
    read = np.where(wrong, r.randint(0, 20, read.shape), read)
    return [read.astype(np.int32), target.astype(np.int32)]


def forward(read, target):
    """Scores [M, 1]."""
    rows, width = target.shape
    ramp = EXTEND * np.arange(width)
    h = np.zeros((rows, width + 1), dtype=np.int64)
    e = np.full((rows, width), -1000, dtype=np.int64)
    best = np.zeros(rows, dtype=np.int64)
    for i in range(read.shape[1]):
        score = np.where(read[:, i : i + 1] == target, MATCH, MISMATCH)
        e = np.maximum(h[:, 1:] - OPEN, e) - EXTEND
        top = np.maximum(np.maximum(h[:, :-1] + score, e), 0)
        reach = np.maximum.accumulate(top + ramp, axis=1) - ramp - OPEN
        now = top.copy()
        now[:, 1:] = np.maximum(top[:, 1:], reach[:, :-1] - EXTEND)
        h = np.concatenate([np.zeros((rows, 1), dtype=np.int64), now], axis=1)
        best = np.maximum(best, now.max(axis=1))
    return best[:, None].astype(np.int32)
