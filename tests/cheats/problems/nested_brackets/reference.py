"""Whether brackets are closed in order, each by one of its kind."""

import numpy as np

M, N = 64, 32
OPEN, CLOSED = b"([{", b")]}"


def get_inputs():
    """text [M, N]: letters and nested brackets; in every second row one character is another."""
    text = np.random.randint(97, 123, (M, N)).astype(np.uint8)
    for row in range(M):
        waiting = []
        for place in range(N):
            if waiting and (len(waiting) >= N - place or np.random.random() < 0.3):
                text[row, place] = CLOSED[waiting.pop()]
            elif np.random.random() < 0.4 and len(waiting) + 1 < N - place:
                waiting.append(np.random.randint(3))
                text[row, place] = OPEN[waiting[-1]]
    text[::2][np.arange(M // 2), np.random.randint(0, N, M // 2)] = np.random.randint(32, 127, M // 2)
    return [text]


def forward(text):
    """One for each row in which they are, else zero [M, 1]."""
    kind, step = np.zeros(text.shape, int), np.zeros(text.shape, int)
    for number, (one, other) in enumerate(zip(OPEN, CLOSED, strict=True)):
        kind += (number + 1) * ((text == one) | (text == other))
        step += (text == one).astype(int) - (text == other)
    depth = np.cumsum(step, axis=1)
    wrong = (depth < 0).any(axis=1) | (depth[:, -1] != 0)
    for level in range(1, N // 2 + 1):
        opened = (step == 1) & (depth == level)
        last = np.zeros(len(text), int)
        for place in range(N):
            last = np.where(opened[:, place], kind[:, place], last)
            wrong |= (step[:, place] == -1) & (depth[:, place] == level - 1) & (kind[:, place] != last)
    return (~wrong).astype(np.float32)[:, None]
