"""Where glyphs stand, line by line of theirs."""

import nki
import nki.isa as nisa
import nki.language as nl

GLYPHS = (
    (2, 0, 10, 0, 6, 2, 4, 9, 12, 10, 3, 10, 4, 14, 2, 14),
    (6, 5, 13, 10, 9, 11, 4, 2, 0, 3, 5, 3, 11, 6, 5, 11),
    (1, 2, 8, 12, 11, 8, 12, 10, 6, 2, 4, 5, 7, 3, 5, 8),
)


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


def load(source):
    """Integers as float32."""
    raw = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=source)
    tile = new(source.shape[0], source.shape[1])
    nisa.tensor_copy(dst=tile, src=raw)
    return tile


def occurs(parts, word):
    """Where each part is the word's number there."""
    met = new(parts[0].shape[0], parts[0].shape[1])
    nisa.tensor_scalar(dst=met, data=parts[0], op0=nl.equal, operand0=float(word[0]))
    for place in range(1, len(word)):
        nisa.scalar_tensor_tensor(
            dst=met, data=parts[place], op0=nl.equal, operand0=float(word[place]), op1=nl.multiply, operand1=met
        )
    return met


@nki.jit
def kernel(image):
    """image [M, N] -> [M - 3, N - 3]."""
    high, wide = image.shape[0] - 3, image.shape[1] - 3
    lines = [load(image[line : line + high, :]) for line in range(4)]
    found = new(high, wide)
    out = nl.ndarray((high, wide), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.memset(dst=found, value=0.0)
    for glyph in GLYPHS:
        met = occurs([lines[place // 4][:, place % 4 : place % 4 + wide] for place in range(16)], glyph)
        nisa.tensor_tensor(dst=found, data1=found, data2=met, op=nl.add)
    nisa.dma_copy(dst=out, src=found)
    return out
