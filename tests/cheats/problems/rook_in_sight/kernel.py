"""Rays from the king, step by step."""

import nki
import nki.isa as nisa
import nki.language as nl

REACH = 7


def new(rows):
    """A tile of boards [rows, 10, 10] with an empty rim."""
    tile = nl.ndarray((rows, 10, 10), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0.0)
    return tile


def inner(tile, dy, dx):
    """The squares, some steps before."""
    return tile[:, 1 - dy : 9 - dy, 1 - dx : 9 - dx]


@nki.jit
def kernel(board):
    """board [M, 64] -> [M, 1]: one where the king is in check."""
    rows = board.shape[0]
    out = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    raw = nl.ndarray((rows, 8, 8), dtype=board.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=raw, src=board.reshape((rows, 8, 8)))
    squares = nl.ndarray((rows, 8, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=squares, src=raw)
    king, ray = new(rows), new(rows)
    empty, queen, line, slant, hit, found = [
        nl.ndarray((rows, 8, 8), dtype=nl.float32, buffer=nl.sbuf) for _ in range(6)
    ]
    nisa.tensor_scalar(dst=inner(king, 0, 0), data=squares, op0=nl.equal, operand0=5.0)
    nisa.tensor_scalar(dst=empty, data=squares, op0=nl.equal, operand0=12.0)
    nisa.tensor_scalar(dst=queen, data=squares, op0=nl.equal, operand0=10.0)
    nisa.tensor_scalar(dst=slant, data=squares, op0=nl.equal, operand0=8.0)
    nisa.tensor_scalar(dst=line, data=squares, op0=nl.equal, operand0=9.0)
    nisa.tensor_tensor(dst=slant, data1=slant, data2=queen, op=nl.add)
    nisa.tensor_tensor(dst=line, data1=line, data2=queen, op=nl.add)
    nisa.memset(dst=found, value=0.0)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy != 0 or dx != 0:
                enemy = slant if dy != 0 and dx != 0 else line
                at = nl.ndarray((rows, 8, 8), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_copy(dst=at, src=inner(king, dy, dx))
                for step in range(REACH):
                    nisa.tensor_tensor(dst=hit, data1=at, data2=enemy, op=nl.multiply)
                    nisa.tensor_tensor(dst=found, data1=found, data2=hit, op=nl.add)
                    if step + 1 < REACH:
                        nisa.tensor_tensor(dst=inner(ray, 0, 0), data1=at, data2=empty, op=nl.multiply)
                        nisa.tensor_copy(dst=at, src=inner(ray, dy, dx))
    any_ = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=any_, op=nl.add, data=found, axis=(1, 2))
    nisa.tensor_scalar(dst=any_, data=any_, op0=nl.greater, operand0=0.0)
    nisa.dma_copy(dst=out, src=any_)
    return out
