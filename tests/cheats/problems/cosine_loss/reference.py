"""Cross entropy of a classifier whose logits are 64 times cosines, no larger than one."""

import numpy as np

M, D, N = 128, 64, 48
SCALE = 64.0


def get_inputs():
    """Embeddings [M, D], class centres [N, D], labels [M, 1]: embeddings lie about their class."""
    centres = np.random.standard_normal((N, D))
    labels = np.random.randint(0, N, (M, 1))
    spread = np.random.uniform(0.3, 3.0, (M, 1))
    features = centres[labels[:, 0]] + spread * np.random.standard_normal((M, D))
    return [features.astype(np.float32), centres.astype(np.float32), labels.astype(np.int32)]


def unit(rows):
    """Rows of length one."""
    return rows / np.sqrt(np.square(rows).sum(axis=-1, keepdims=True) + 1e-12)


def forward(x, w, y):
    """Each row's loss [M, 1]."""
    logits = SCALE * np.clip(unit(x) @ unit(w).T, -1.0, 1.0)
    behind = logits - logits[np.arange(len(x)), y[:, 0]][:, None]
    most = behind.max(axis=-1, keepdims=True)
    return most + np.log(np.exp(behind - most).sum(axis=-1, keepdims=True))
