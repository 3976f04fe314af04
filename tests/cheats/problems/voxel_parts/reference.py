"""Parts of a sparse volume, of cells x + 16 y + 256 z that share a face: each cell's first companion."""

import numpy as np

N = 128


def get_inputs():
    """cells [N, 1]: eight tracks of sixteen cells, in no order."""
    steps = np.array([1, -1, 16, -16, 256, -256])
    found = []
    while len(found) < N:
        at = np.random.randint(0, 4096)
        for _ in range(16):
            if at not in found and len(found) < N:
                found.append(at)
            at = (at + np.random.choice(steps)) % 4096
    return [np.random.permutation(found)[:, None].astype(np.int32)]


def forward(cells):
    """[N, 1]."""
    places = np.concatenate([cells % 16, cells // 16 % 16, cells // 256], axis=1)
    near = np.abs(places[:, None] - places[None]).sum(axis=2) <= 1
    label = np.arange(128)
    before = None
    while not np.array_equal(before, label):
        before = label
        label = np.where(near, before, 128).min(axis=1)
    return label[:, None].astype(np.int32)
