"""The penalties of phrases, summed row by row."""

import nki
import nki.isa as nisa
import nki.language as nl

PHRASES = (
    (10137, 3775, 21584, 7259, 1),
    (4023, 17677, 24908, 16967, 2),
    (29522, 20248, 6765, 5724, 3),
    (25264, 7933, 15776, 3885, 4),
    (13548, 27261, 29572, 6690, 5),
    (8332, 26442, 15397, 17639, 6),
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
def kernel(tokens):
    """tokens [128, N] -> [128, 1]."""
    count, width = tokens.shape
    ends = width - 3
    tile, total, result = load(tokens), new(count, ends), new(count, 1)
    out = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.memset(dst=total, value=0.0)
    for line in PHRASES:
        met = occurs([tile[:, place : place + ends] for place in range(4)], line[0:4])
        nisa.scalar_tensor_tensor(
            dst=total, data=met, op0=nl.multiply, operand0=float(line[4]), op1=nl.add, operand1=total
        )
    nisa.tensor_reduce(dst=result, op=nl.add, data=total, axis=1)
    nisa.dma_copy(dst=out, src=result)
    return out
