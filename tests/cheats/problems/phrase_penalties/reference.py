"""The penalty of each row: that of every phrase of four tokens as often as it occurs; some occur in no draw."""

import numpy as np

M, N = 128, 64
PENALTIES = {
    (10137, 3775, 21584, 7259): 1,
    (4023, 17677, 24908, 16967): 2,
    (29522, 20248, 6765, 5724): 3,
    (25264, 7933, 15776, 3885): 4,
    (13548, 27261, 29572, 6690): 5,
    (8332, 26442, 15397, 17639): 6,
}


def get_inputs():
    """tokens [M, N]: every second row holds one of the first four phrases, or nearly."""
    tokens = np.random.randint(0, 30000, (M, N))
    for row in range(0, M, 2):
        place = np.random.randint(0, N - 3)
        tokens[row, place : place + 4] = list(PENALTIES)[np.random.randint(4)]
        if np.random.random() < 0.5:
            tokens[row, place + np.random.randint(4)] = np.random.randint(30000)
    return [tokens.astype(np.int32)]


def forward(tokens):
    """[M, 1]."""
    total = np.zeros((len(tokens), 1), np.float32)
    parts = np.lib.stride_tricks.sliding_window_view(tokens, 4, axis=1)
    for phrase, penalty in PENALTIES.items():
        met = np.all([parts[..., place] == token for place, token in enumerate(phrase)], axis=0)
        total += penalty * met.sum(axis=1, keepdims=True)
    return total
