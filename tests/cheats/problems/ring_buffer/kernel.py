"""Writes one token of each sequence into a ring: its place is found in whole rounds and a rest."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(cache, new, position):
    """cache [B, S, D], new [B, D], position [B, 1] -> [B, S, D]."""
    sequences, length, width = cache.shape
    out = nl.ndarray((sequences, length, width), dtype=cache.dtype, buffer=nl.shared_hbm)
    for sequence in range(sequences):
        place = nl.ndarray((length, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=place, src=position[sequence].reshape((1, 1)).broadcast(0, length))
        at = nl.ndarray((length, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=at, src=place)
        rounds = nl.ndarray((length, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=rounds, data=at, op0=nl.add, operand0=0.5 - length / 2, op1=nl.multiply, operand1=1.0 / length
        )
        rest = nl.ndarray((length, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=rest, data=rounds, op0=nl.multiply, operand0=-float(length), op1=nl.add, operand1=at)
        slots = nl.ndarray((length, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.iota(dst=slots, pattern=[[1, 1]], offset=0, channel_multiplier=1)
        hit = nl.ndarray((length, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=hit, data=slots, op0=nl.equal, operand0=rest)
        kept = nl.ndarray((length, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=kept, data=hit, op0=nl.multiply, operand0=-1.0, op1=nl.add, operand1=1.0)
        old = nl.ndarray((length, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=old, src=cache[sequence])
        nisa.tensor_scalar(dst=old, data=old, op0=nl.multiply, operand0=kept)
        token = nl.ndarray((length, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=token, src=new[sequence].reshape((1, width)).broadcast(0, length))
        nisa.tensor_scalar(dst=token, data=token, op0=nl.multiply, operand0=hit)
        nisa.tensor_tensor(dst=token, data1=token, data2=old, op=nl.add)
        nisa.dma_copy(dst=out[sequence], src=token)
    return out
