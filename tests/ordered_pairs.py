"""Twenty pairs of kernels whose order physics dictates, each with the factor on Trn2 and the cause (ordered-pairs.md).

Outputs stay on chip where transfers would hide the cause; what has no effect on time is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nki_anvil.sim import isa as nisa
from nki_anvil.sim import language as nl
from nki_anvil.sim import recorded
from nki_anvil.sim.tracing import ArraySpec

P = 128
REPEATS = 32


@dataclass(frozen=True)
class Pair:
    """``low`` to ``high`` is the factor that the page gives; ``causes`` are gaps of which the slower must show one."""

    number: int
    name: str
    slower: Callable[..., Any]
    faster: Callable[..., Any]
    low: float
    high: float
    causes: tuple[str, ...]
    inputs: tuple[ArraySpec, ...] = ()


def sbuf(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype, nl.sbuf)


def psum(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype, nl.psum)


def hbm(*shape: int, dtype: Any = "float32") -> ArraySpec:
    return ArraySpec(shape, dtype)


def loads_in_pieces(source: Any) -> None:
    for row in range(16):
        tile = sbuf(P, 1024)
        for piece in range(0, 1024, 64):
            nisa.dma_copy(tile[:, piece : piece + 64], source[row * P : row * P + P, piece : piece + 64])


def loads_whole(source: Any) -> None:
    for row in range(16):
        nisa.dma_copy(sbuf(P, 1024), source[row * P : row * P + P])


def loads_into_one_partition(source: Any) -> None:
    for row in range(8):
        nisa.dma_copy(sbuf(1, 32768), source[row].reshape((1, 32768)))


def loads_over_partitions(source: Any) -> None:
    for row in range(8):
        nisa.dma_copy(sbuf(P, 256), source[row].reshape((P, 256)))


def elementwise(partitions: int, tiles: int) -> Callable[[], None]:
    def kernel() -> None:
        one, other = sbuf(partitions, 512), sbuf(partitions, 512)
        for _ in range(tiles):
            nisa.tensor_tensor(sbuf(partitions, 512), one, other, nl.add)

    return kernel


def streamed(outside: bool) -> Callable[[Any], Any]:
    def kernel(source: Any) -> Any:
        out = nl.ndarray(source.shape, source.dtype, nl.shared_hbm)
        shared = sbuf(P, 1024)
        for row in range(0, source.shape[0], P):
            tile = shared if outside else sbuf(P, 1024)
            nisa.dma_copy(tile, source[row : row + P])
            result = sbuf(P, 1024)
            nisa.activation(result, nl.exp, tile)
            nisa.dma_copy(out[row : row + P], result)
        return out

    return kernel


def matmuls(
    count: int = 256,
    k: int = P,
    m: int = P,
    n: int = 512,
    dtype: Any = nl.bfloat16,
    mode: Any = nisa.matmul_perf_mode.none,
) -> Callable[[], None]:
    def kernel() -> None:
        rows = (2,) if mode is nisa.matmul_perf_mode.double_row else ()
        stationary = [sbuf(k, *rows, m, dtype=dtype) for _ in range(2)]
        moving = sbuf(k, *rows, n, dtype=dtype)
        banks = [psum(m, n) for _ in range(4)]
        for number in range(count):
            nisa.nc_matmul(banks[number % 4], stationary[number % 2], moving, perf_mode=mode)

    return kernel


def transposing_matmul() -> None:
    """Result [rows, 512] of a left operand that lies with rows on partitions: each tile is transposed first."""
    right = sbuf(P, 512, dtype=nl.bfloat16)
    for _ in range(REPEATS):
        left = sbuf(P, P, dtype=nl.bfloat16)
        turned = psum(P, P, dtype=nl.bfloat16)
        nisa.nc_transpose(turned, left, engine=nisa.engine.tensor)
        stationary = sbuf(P, P, dtype=nl.bfloat16)
        nisa.tensor_copy(stationary, turned, engine=nisa.engine.vector)
        nisa.nc_matmul(psum(P, 512), stationary, right)


def swapped_matmul() -> None:
    """The operands are such that none has to be turned."""
    right = sbuf(P, 512, dtype=nl.bfloat16)
    for _ in range(REPEATS):
        nisa.nc_matmul(psum(P, 512), sbuf(P, P, dtype=nl.bfloat16), right)


def strided_loads(source: Any) -> None:
    for column in range(0, source.shape[1], P):
        nisa.dma_copy(sbuf(P, P), source[0:P, column : column + P].permute((1, 0)))


def loads_and_transposes(source: Any) -> None:
    whole = sbuf(P, source.shape[1])
    nisa.dma_copy(whole, source)
    for column in range(0, source.shape[1], P):
        turned = psum(P, P)
        nisa.nc_transpose(turned, whole[:, column : column + P], engine=nisa.engine.tensor)
        nisa.tensor_copy(sbuf(P, P), turned)


def softmax_in_three() -> None:
    for _ in range(REPEATS):
        data, moved, power, total, largest = sbuf(P, 512), sbuf(P, 512), sbuf(P, 512), sbuf(P, 1), sbuf(P, 1)
        nisa.tensor_scalar(moved, data, nl.subtract, largest)
        nisa.activation(power, nl.exp, moved)
        nisa.tensor_reduce(total, nl.add, power, axis=1)


def softmax_in_one() -> None:
    for _ in range(REPEATS):
        data, power, total, negated = sbuf(P, 512), sbuf(P, 512), sbuf(P, 1), sbuf(P, 1)
        nisa.activation_reduce(power, nl.exp, data, nl.add, total, bias=negated)


def scaled_in_two() -> None:
    for _ in range(REPEATS):
        data, half, whole = sbuf(P, 512), sbuf(P, 512), sbuf(P, 512)
        nisa.tensor_scalar(half, data, nl.multiply, 2.0, engine=nisa.engine.vector)
        nisa.tensor_scalar(whole, half, nl.add, 1.0, engine=nisa.engine.vector)


def scaled_in_one() -> None:
    for _ in range(REPEATS):
        data, whole = sbuf(P, 512), sbuf(P, 512)
        nisa.tensor_scalar(whole, data, nl.multiply, 2.0, op1=nl.add, operand1=1.0, engine=nisa.engine.vector)


def reciprocal_of_all() -> None:
    for _ in range(REPEATS):
        data, total, inverse = sbuf(P, 512), sbuf(P, 512), sbuf(P, 512)
        nisa.reciprocal(inverse, total)
        nisa.tensor_tensor(sbuf(P, 512), data, inverse, nl.multiply)


def reciprocal_of_one() -> None:
    for _ in range(REPEATS):
        data, total, inverse = sbuf(P, 512), sbuf(P, 1), sbuf(P, 1)
        nisa.reciprocal(inverse, total)
        nisa.tensor_scalar(sbuf(P, 512), data, nl.multiply, inverse, engine=nisa.engine.vector)


def activations(functions: list[Any]) -> Callable[[], None]:
    def kernel() -> None:
        data = sbuf(P, 512)
        for function in functions:
            nisa.activation(sbuf(P, 512), function, data)

    return kernel


def evacuations(engines: list[Any]) -> Callable[[], None]:
    def kernel() -> None:
        stationary, moving = sbuf(P, P, dtype=nl.bfloat16), sbuf(P, 512, dtype=nl.bfloat16)
        for number in range(4 * REPEATS):
            bank = psum(P, 512)
            nisa.nc_matmul(bank, stationary, moving)
            nisa.tensor_copy(sbuf(P, 512, dtype=nl.bfloat16), bank, engine=engines[number % len(engines)])

    return kernel


def accumulations(banks: int) -> Callable[[], None]:
    def kernel() -> None:
        stationary, moving = sbuf(P, P, dtype=nl.bfloat16), sbuf(P, 512, dtype=nl.bfloat16)
        tiles = [psum(P, 512) for _ in range(banks)]
        for number in range(REPEATS):
            tile = tiles[number % banks]
            for k in range(8):
                nisa.nc_matmul(tile, stationary, moving, accumulate=k > 0)
            nisa.tensor_copy(sbuf(P, 512, dtype=nl.bfloat16), tile, engine=nisa.engine.vector)

    return kernel


def copies(dtype: Any) -> Callable[[], None]:
    def kernel() -> None:
        data = sbuf(P, 2048, dtype=dtype)
        for _ in range(8):
            nisa.tensor_copy(sbuf(P, 2048, dtype=dtype), data, engine=nisa.engine.vector)

    return kernel


def scan_by_columns() -> None:
    decay, data, state = sbuf(P, 512), sbuf(P, 512), sbuf(P, 513)
    for t in range(512):
        nisa.scalar_tensor_tensor(
            state[:, t + 1 : t + 2], state[:, t : t + 1], nl.multiply, decay[:, t : t + 1], nl.add, data[:, t : t + 1]
        )


def scan_at_once() -> None:
    decay, data, state = sbuf(P, 512), sbuf(P, 512), sbuf(P, 512)
    nisa.tensor_tensor_scan(state, decay, data, 0.0, nl.multiply, nl.add)


SQUARE = hbm(2048, 2048, dtype="bfloat16")
DOUBLE = nisa.matmul_perf_mode.double_row
EXP, SQRT = [nl.exp], [nl.sqrt]

PAIRS = (
    Pair(
        1,
        "a tile per use, rows reused",
        recorded.matmul_tile_by_tile,
        recorded.matmul_by_rows,
        4.8,
        4.8,
        ("reloads", "small_transfers"),
        (SQUARE, SQUARE),
    ),
    Pair(2, "sixteen loads, one", loads_in_pieces, loads_whole, 10, 10, ("small_transfers",), (hbm(2048, 1024),)),
    Pair(
        3,
        "one partition, all",
        loads_into_one_partition,
        loads_over_partitions,
        6,
        16,
        ("few_dma_engines",),
        (hbm(8, 32768),),
    ),
    Pair(4, "64 partitions, 128", elementwise(64, 64), elementwise(128, 32), 2, 2, ("underfilled_partitions",)),
    Pair(5, "tile outside, inside", streamed(True), streamed(False), 2, 3, ("serialised_buffers",), (hbm(4096, 1024),)),
    Pair(6, "fp32, bf16", matmuls(dtype=nl.float32), matmuls(), 4, 4, ("fp32_passes",)),
    Pair(
        7,
        "bf16, fp8 double row",
        matmuls(512),
        matmuls(256, dtype=nl.float8_e4m3, mode=DOUBLE),
        2,
        2,
        ("matmul_rate",),
    ),
    Pair(8, "moving 32, 512", matmuls(4096, n=32), matmuls(256), 2, 2, ("small_instructions",)),
    Pair(9, "short stationary, moving", matmuls(256, m=32), matmuls(1024, n=32), 2, 2, ("short_stationary",)),
    Pair(10, "K 32 four times, packed", matmuls(1024, k=32), matmuls(256), 4, 4, ("underfilled_array",)),
    Pair(11, "transposes, swapped", transposing_matmul, swapped_matmul, 1.3, 2, ("transposes",)),
    Pair(
        12,
        "4-byte strides, rows",
        strided_loads,
        loads_and_transposes,
        50,
        500,
        ("strided_transfers",),
        (hbm(128, 2048),),
    ),
    Pair(13, "three instructions, one", softmax_in_three, softmax_in_one, 2.5, 2.5, ("unfused_instructions",)),
    Pair(14, "two tensor_scalar, one", scaled_in_two, scaled_in_one, 2, 2, ("unfused_instructions",)),
    Pair(15, "reciprocal of N, of 1", reciprocal_of_all, reciprocal_of_one, 8, 8, ("slow_operations",)),
    Pair(
        16,
        "alternating, grouped",
        activations((EXP + SQRT) * 64),
        activations(EXP * 64 + SQRT * 64),
        4,
        4,
        ("activation_table_loads",),
    ),
    Pair(
        17,
        "vector alone, in turn",
        evacuations([nisa.engine.vector]),
        evacuations([nisa.engine.vector, nisa.engine.scalar]),
        1.8,
        2.2,
        ("unbalanced_engines",),
    ),
    Pair(18, "one bank, rotating", accumulations(1), accumulations(8), 1.35, 1.5, ("psum_bank_stalls",)),
    Pair(19, "fp32 copy, bf16", copies(nl.float32), copies(nl.bfloat16), 4, 4, ("vector_precision",)),
    Pair(20, "columns, scan", scan_by_columns, scan_at_once, 50, 100, ("small_instructions",)),
)
