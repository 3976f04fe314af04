"""What a file is, by its first four bytes: a number for each kind, and nothing for others; two occur in no draw."""

import numpy as np

M, N = 128, 32
KINDS = {0x89504E47: 1, 0x47494638: 2, 0x25504446: 3, 0x504B0304: 4, 0x7F454C46: 5}
PLACES = np.array([1 << 24, 1 << 16, 1 << 8, 1])


def get_inputs():
    """data [M, N]: every second row begins as one of the first three kinds, or nearly."""
    data = np.random.randint(0, 256, (M, N))
    for row in range(0, M, 2):
        kind = list(KINDS)[np.random.randint(3)]
        data[row, :4] = list(kind.to_bytes(4, "big"))
        if np.random.random() < 0.5:
            data[row, np.random.randint(4)] = np.random.randint(256)
    return [data.astype(np.uint8)]


def forward(data):
    """[M, 1]."""
    first = data[:, :4].astype(np.int64) @ PLACES
    kind = np.zeros(len(data), np.float32)
    for begin, number in KINDS.items():
        kind += number * (first == begin)
    return kind[:, None]
