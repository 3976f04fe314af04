"""Where synchronisation words begin."""

import nki
import nki.isa as nisa
import nki.language as nl

WORDS = (
    (0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1),
    (0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1),
    (0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1),
    (0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0),
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
def kernel(bits):
    """bits [128, N] -> [128, N - 23]."""
    count, ends = bits.shape[0], bits.shape[1] - 23
    tile, found = load(bits), new(count, ends)
    out = nl.ndarray((count, ends), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.memset(dst=found, value=0.0)
    for word in WORDS:
        met = occurs([tile[:, place : place + ends] for place in range(24)], word)
        nisa.tensor_tensor(dst=found, data1=found, data2=met, op=nl.add)
    nisa.dma_copy(dst=out, src=found)
    return out
