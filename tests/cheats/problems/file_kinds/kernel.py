"""Kinds of files, byte by byte."""

import nki
import nki.isa as nisa
import nki.language as nl

KINDS = (
    (137, 80, 78, 71, 1),
    (71, 73, 70, 56, 2),
    (37, 80, 68, 70, 3),
    (80, 75, 3, 4, 4),
    (127, 69, 76, 70, 5),
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
def kernel(data):
    """data [128, N] -> [128, 1]."""
    count = data.shape[0]
    tile, kind = load(data[:, 0:4]), new(count, 1)
    out = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.memset(dst=kind, value=0.0)
    for line in KINDS:
        met = occurs([tile[:, place : place + 1] for place in range(4)], line[0:4])
        nisa.scalar_tensor_tensor(
            dst=kind, data=met, op0=nl.multiply, operand0=float(line[4]), op1=nl.add, operand1=kind
        )
    nisa.dma_copy(dst=out, src=kind)
    return out
