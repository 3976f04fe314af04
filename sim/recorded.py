"""Kernels that public recordings of real Trainium2 devices were made of, written from their descriptions.

They exist to be estimated, not to be run: what they compute is of no interest, only which instructions they
are made of.
"""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim import isa as nisa
from nki_anvil.sim import language as nl

P: Final = 128
F: Final = 512


def activations(size: int) -> Any:
    """A kernel of one activation of ``size`` elements per partition."""

    def kernel() -> None:
        source, target = (nl.ndarray((P, size), nl.float32, nl.sbuf) for _ in range(2))
        nisa.activation(target, nl.exp, source)

    return kernel


def load(partitions: int, row_bytes: int) -> Any:
    """One load of rows of so many bytes."""

    def kernel(source: Any) -> None:
        tile = nl.ndarray((partitions, row_bytes // 4), nl.float32, nl.sbuf)
        nisa.dma_copy(tile, source[0:partitions, 0 : row_bytes // 4])

    return kernel


def store(partitions: int, row_bytes: int) -> Any:
    """One store of rows of so many bytes."""

    def kernel(target: Any) -> None:
        tile = nl.ndarray((partitions, row_bytes // 4), nl.float32, nl.sbuf)
        nisa.dma_copy(target[0:partitions, 0 : row_bytes // 4], tile)

    return kernel


def loads(count: int, row_bytes: int) -> Any:
    """Loads of 128 rows, one after another in one queue, always into the same few tiles of one tensor's size."""

    def kernel(source: Any) -> None:
        for _ in range(count):
            tile = nl.ndarray((P, row_bytes), nl.uint8, nl.sbuf)
            nisa.dma_copy(tile, source)

    return kernel


def mixed_modes(count: int, row_bytes: int, batch: int = 8) -> Any:
    """Tiles that pass from HBM to HBM through SBUF, by each way of generating descriptors in turn."""
    ways: tuple[dict[str, Any], ...] = (
        {"dge_mode": nisa.dge_mode.none},
        {"dge_mode": nisa.dge_mode.hwdge, "engine": nisa.engine.scalar},
        {"dge_mode": nisa.dge_mode.swdge},
        {"dge_mode": nisa.dge_mode.unknown},
    )

    def kernel(source: Any, target: Any) -> None:
        waiting: list[Any] = []
        for first in range(0, count, batch):
            tiles = [nl.ndarray((P, row_bytes), nl.uint8, nl.sbuf) for _ in range(batch)]
            for number, tile in enumerate(tiles):
                nisa.dma_copy(tile, source, **ways[number % len(ways)])
            for number, tile in enumerate(waiting):
                nisa.dma_copy(target[first + number], tile, **ways[number % len(ways)])
            waiting = tiles

    return kernel


def matmuls(count: int, k: int = P, m: int = P, n: int = F) -> Any:
    """Independent bf16 matmuls on operands that are there, over eight banks."""

    def kernel() -> None:
        stationary, moving = nl.ndarray((k, m), nl.bfloat16, nl.sbuf), nl.ndarray((k, n), nl.bfloat16, nl.sbuf)
        banks = [nl.ndarray((m, n), nl.float32, nl.psum) for _ in range(8)]
        for number in range(count):
            nisa.nc_matmul(banks[number % 8], stationary, moving)

    return kernel


def array_uses(count: int) -> Any:
    """So many matmuls each with 32 columns, 64 moving columns, 32 rows, and with the whole array."""
    parts = [matmuls(count, m=32), matmuls(count, n=64), matmuls(count, k=32), matmuls(count)]

    def kernel() -> None:
        for part in parts:
            part()

    return kernel


def matmul_tile_by_tile(left: Any, right: Any) -> Any:
    """bf16, left [K, M] and right [K, N]: a tile is loaded for each use. As the compiler of the recording did, a left
    tile is loaded once for three neighbouring columns of the result."""
    (depth, rows), columns = left.shape, right.shape[1]
    out = nl.ndarray((rows, columns), nl.bfloat16, nl.shared_hbm)
    for m in range(0, rows, P):
        left_tiles: list[Any] = []
        for number, n in enumerate(range(0, columns, F)):
            if number % 3 == 0:
                left_tiles = [_loaded(left[k : k + P, m : m + P]) for k in range(0, depth, P)]
            product = nl.ndarray((P, F), nl.float32, nl.psum)
            for number_k, k in enumerate(range(0, depth, P)):
                nisa.nc_matmul(product, left_tiles[number_k], _loaded(right[k : k + P, n : n + F]))
            _evacuate(out[m : m + P, n : n + F], product)
    return out


def matmul_by_rows(left: Any, right: Any) -> Any:
    """The same product with rows of 2 KiB, and the left block kept."""
    (depth, rows), columns, block = left.shape, right.shape[1], 1024
    out = nl.ndarray((rows, columns), nl.bfloat16, nl.shared_hbm)
    for m in range(0, rows, block):
        left_rows = [_loaded(left[k : k + P, m : m + block]) for k in range(0, depth, P)]
        for n in range(0, columns, block):
            right_rows = [_loaded(right[k : k + P, n : n + block]) for k in range(0, depth, P)]
            _block(out, left_rows, right_rows, m, n, block)
    return out


def _block(out: Any, left_rows: list[Any], right_rows: list[Any], m: int, n: int, block: int) -> None:
    for i in range(0, block, P):
        for j in range(0, block, F):
            product = nl.ndarray((P, F), nl.float32, nl.psum)
            for left, right in zip(left_rows, right_rows, strict=True):
                nisa.nc_matmul(product, left[0:P, i : i + P], right[0:P, j : j + F])
            _evacuate(out[m + i : m + i + P, n + j : n + j + F], product)


def state_space(states: int, width: int) -> Any:
    """The Mamba layer, delta and u [channels, length], A [channels, states], B and C [states, length], all fp32.

    As the compiler of the recording did, a row of B or C is spread over the partitions by a matmul with ones. That it
    also made the product of delta and u, which no state changes, only once per piece of ``width`` is read off the
    recorded time: made for every state it would take a quarter longer.
    """

    def kernel(delta: Any, u: Any, rates: Any, b: Any, c: Any) -> Any:
        out = nl.ndarray(delta.shape, delta.dtype, nl.shared_hbm)
        ones = nl.ndarray((1, P), nl.float32, nl.sbuf)
        nisa.memset(ones, value=1.0)
        for channel in range(0, delta.shape[0], P):
            rows = slice(channel, channel + P)
            for start in range(0, delta.shape[1], width):
                piece = slice(start, start + width)
                steps, inputs = _loaded(delta[rows, piece]), _loaded(u[rows, piece])
                total, gained = _like(steps), _like(steps)
                nisa.memset(total, value=0.0)
                nisa.tensor_tensor(gained, steps, inputs, nl.multiply)
                for state in range(states):
                    row = slice(state, state + 1)
                    spread = [_spread(ones, _loaded(source[row, piece])) for source in (b, c)]
                    _one_state(total, steps, gained, _loaded(rates[rows, row]), spread)
                nisa.dma_copy(out[rows, piece], total)
        return out

    return kernel


def _one_state(total: Any, steps: Any, gained: Any, rate: Any, spread: list[Any]) -> None:
    decay, entered, state, left = (_like(steps) for _ in range(4))
    nisa.activation(decay, nl.exp, steps, scale=rate)
    nisa.tensor_tensor(entered, gained, spread[0], nl.multiply)
    nisa.tensor_tensor_scan(state, decay, entered, initial=0.0, op0=nl.multiply, op1=nl.add)
    nisa.tensor_tensor(left, state, spread[1], nl.multiply)
    nisa.tensor_tensor(total, total, left, nl.add)


def _spread(ones: Any, row: Any) -> Any:
    everywhere = nl.ndarray((P, row.shape[1]), nl.float32, nl.psum)
    nisa.nc_matmul(everywhere, ones, row)
    return everywhere


def _like(tile: Any) -> Any:
    return nl.ndarray(tile.shape, tile.dtype, nl.sbuf)


def sigmoid_unit(width: int, piece: int) -> Any:
    """x / (1 + exp(-x)) of [rows, columns] in fp32, loaded by ``width`` and computed by ``piece`` columns; the addition
    runs on the scalar engine, whose recorded time holds it."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        for row in range(0, x.shape[0], P):
            for column in range(0, x.shape[1], width):
                here = (slice(row, row + P), slice(column, column + width))
                tile = _loaded(x[here])
                result = _like(tile)
                for start in range(0, width, piece):
                    part = (slice(None), slice(start, start + piece))
                    power, divisor, inverse = (nl.ndarray((P, piece), nl.float32, nl.sbuf) for _ in range(3))
                    nisa.activation(power, nl.exp, tile[part], scale=-1.0)
                    nisa.tensor_scalar(divisor, power, nl.add, 1.0, engine=nisa.engine.scalar)
                    nisa.reciprocal(inverse, divisor)
                    nisa.tensor_tensor(result[part], tile[part], inverse, nl.multiply)
                nisa.dma_copy(out[here], result)
        return out

    return kernel


def _loaded(source: Any) -> Any:
    tile = nl.ndarray(source.shape, source.dtype, nl.sbuf)
    nisa.dma_copy(tile, source)
    return tile


def _evacuate(target: Any, product: Any) -> None:
    tile = nl.ndarray(product.shape, target.dtype, nl.sbuf)
    nisa.tensor_copy(tile, product, engine=nisa.engine.vector)
    nisa.dma_copy(target, tile)
