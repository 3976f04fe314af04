"""RMSNorm in pieces of 64 columns: right, but each transfer is small and every instruction short."""

import nki
import nki.isa as nisa
import nki.language as nl

P = nl.tile_size.pmax
WIDTH = 64


@nki.jit
def kernel(x, gain, eps):
    rows, width = x.shape
    out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, P):
        size = min(P, rows - start)
        total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        pieces = []
        for column in range(0, width, WIDTH):
            end = min(column + WIDTH, width)
            piece = nl.ndarray((size, end - column), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=piece, src=x[start : start + size, column:end])
            squares = nl.ndarray(piece.shape, dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=squares, data1=piece, data2=piece, op=nl.multiply)
            partial = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=partial, op=nl.add, data=squares, axis=1)
            nisa.tensor_tensor(dst=total, data1=total, data2=partial, op=nl.add)
            pieces.append(piece)
        mean = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / width, op1=nl.add, operand1=eps)
        scale = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=mean)
        column = 0
        for piece in pieces:
            end = column + piece.shape[1]
            gains = nl.ndarray(piece.shape, dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=gains, src=gain.reshape((1, width))[:, column:end].broadcast(0, size))
            result = nl.ndarray(piece.shape, dtype=out.dtype, buffer=nl.sbuf)
            nisa.scalar_tensor_tensor(
                dst=result, data=piece, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=gains
            )
            nisa.dma_copy(dst=out[start : start + size, column:end], src=result)
            column = end
    return out
