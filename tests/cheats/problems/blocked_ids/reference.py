"""Which ids are blocked, of a list that is longer than a row; half of those occur in no draw."""

import numpy as np

M, N = 128, 64
BLOCKED = np.random.RandomState(15).randint(0, 1 << 24, 96)


def get_inputs():
    """ids [M, N]: one in eight is blocked."""
    ids = np.random.randint(0, 1 << 24, (M, N))
    some = np.random.random((M, N)) < 0.125
    ids[some] = np.random.choice(BLOCKED[:48], some.sum())
    return [ids.astype(np.int32)]


def forward(ids):
    """[M, N]."""
    return np.isin(ids, BLOCKED).astype(np.float32)
