"""Von Mises' stress: normal stresses about their mean, and shear, tensor by tensor on partitions."""

import nki
import nki.isa as nisa
import nki.language as nl

P = 128


def new(rows, columns):
    """A float32 tile."""
    return nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def kernel(stress):
    """stress [M, 6] -> [M, 1]."""
    out = nl.ndarray((stress.shape[0], 1), dtype=stress.dtype, buffer=nl.shared_hbm)
    for start in range(0, stress.shape[0], P):
        tile, normal, shear = new(P, 6), new(P, 3), new(P, 3)
        mean, total, sheared = new(P, 1), new(P, 1), new(P, 1)
        nisa.dma_copy(dst=tile, src=stress[start : start + P, :])
        for place, column in enumerate((0, 3, 5)):
            nisa.tensor_copy(dst=normal[:, place : place + 1], src=tile[:, column : column + 1])
        for place, column in enumerate((1, 2, 4)):
            nisa.tensor_copy(dst=shear[:, place : place + 1], src=tile[:, column : column + 1])
        nisa.tensor_reduce(dst=mean, op=nl.add, data=normal, axis=1)
        nisa.tensor_scalar(dst=mean, data=mean, op0=nl.multiply, operand0=1.0 / 3.0)
        nisa.tensor_scalar(dst=normal, data=normal, op0=nl.subtract, operand0=mean)
        nisa.tensor_tensor(dst=normal, data1=normal, data2=normal, op=nl.multiply)
        nisa.tensor_reduce(dst=total, op=nl.add, data=normal, axis=1)
        nisa.tensor_tensor(dst=shear, data1=shear, data2=shear, op=nl.multiply)
        nisa.tensor_reduce(dst=sheared, op=nl.add, data=shear, axis=1)
        nisa.tensor_scalar(dst=sheared, data=sheared, op0=nl.multiply, operand0=2.0)
        nisa.tensor_tensor(dst=total, data1=total, data2=sheared, op=nl.add)
        nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=1.5, op1=nl.add, operand1=1e-6)
        nisa.activation(dst=total, op=nl.sqrt, data=total)
        nisa.dma_copy(dst=out[start : start + P, :], src=total)
    return out
