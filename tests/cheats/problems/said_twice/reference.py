"""Whether a text goes round in circles: whether it ends in a phrase that it has just said."""

import numpy as np

M, S = 128, 128


def get_inputs():
    """Tokens [M, S]; half of the texts end in a phrase of at most 24 tokens, said twice."""
    tokens = np.random.randint(0, 50257, (M, S)).astype(np.int32)
    sizes = np.random.randint(1, 25, M) * (np.random.random(M) < 0.5)
    for text, size in zip(tokens, sizes, strict=True):
        text[S - size :] = text[S - 2 * size : S - size]
    return [tokens]


def forward(tokens):
    """One for each text that ends so, whatever the phrase's length; [M, 1]."""
    twice = np.zeros(len(tokens), bool)
    backwards = tokens[:, ::-1]
    for size, _ in enumerate(tokens.T[::2], 1):
        twice |= (backwards[:, :size] == backwards[:, size : 2 * size]).all(axis=1)
    return twice[:, None].astype(np.float32)
