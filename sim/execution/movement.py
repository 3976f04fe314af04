"""Instructions that move data: DMA, copies, memset, shuffles and gathers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.conversion import converted
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.operations import WORDS

Array = NDArray[Any]

QUADRANT = 32
GPSIMD_CORE_PARTITIONS = 16
UNMODIFIED = 255
"""The shuffle mask's entry that leaves a partition as it is."""


@defines("dma_copy")
def dma_copy(site: Site) -> None:
    """dst = src, element by element in the order of both patterns; rows whose index is out of bounds may be skipped."""
    source, target = site.operand("src"), site.operand("dst")
    if source.size != target.size:
        raise site.fault("SIM-SHAPE", f"dma_copy of {source.size} elements to {target.size}")
    if source.dynamic or target.dynamic:
        site.do(_dynamic_copy, source, target, site.bench)
        return
    _static_copy(site)


@defines("tensor_copy")
def tensor_copy(site: Site) -> None:
    """dst = src on chip: bit-exact within one format, else through float32.

    Of 32-bit integers that is promised of the Vector and the GpSimd Engine alone (``nki.isa.tensor_copy``); release
    notes of NKI 0.3 and 0.4 say that the Scalar Engine loses bits of them. There it is one or the other, by lot.
    """
    source, target = site.operand("src"), site.operand("dst")
    words = source.dtype == target.dtype and source.dtype in WORDS
    if not words or site.engine in ("vector", "gpsimd") or source.dynamic or target.dynamic:
        dma_copy(site)
        return
    if source.size != target.size:
        raise site.fault("SIM-SHAPE", f"tensor_copy of {source.size} elements to {target.size}")
    shape = target.shape if source.shape != target.shape else source.shape
    site.do(_words, site.bench, source.dtype, site.raw("src", shape), site.raw_target("dst", shape))


def _words(bench: Bench, dtype: str, values: Array, out: Array) -> None:
    through = bench.lots.other("words", "tensor_copy")
    np.copyto(
        out, converted(converted(values, dtype, "float32", bench), "float32", dtype, bench) if through else values
    )


def _static_copy(site: Site) -> None:
    target, source = site.operand("dst"), site.operand("src")
    shape = target.shape if source.shape != target.shape else source.shape
    site.cast(site.raw("src", shape), source.dtype, "dst")


def _dynamic_copy(source: Operand, target: Operand, bench: Bench) -> None:
    values, valid = source.get()
    values = converted(values, source.dtype, target.dtype, bench)
    if valid is None:
        target.put(values.reshape(target.shape))
        return
    mixed = np.array(target.get()[0]).reshape(source.shape)
    mixed[valid] = values[valid]
    target.put(mixed.reshape(target.shape))


_DEFAULT_AXES = {2: [1, 0], 3: [2, 1, 0], 4: [3, 1, 2, 0]}


@defines("dma_transpose")
def dma_transpose(site: Site) -> None:
    """dst = src with its dimensions permuted: all reversed for two and three, the outer two exchanged for four."""
    source, target = site.operand("src"), site.operand("dst")
    axes = site["axes"] or _DEFAULT_AXES.get(len(source.shape))
    if axes is None or sorted(axes) != list(range(len(source.shape))):
        raise site.fault("SIM-AXES", f"dma_transpose of {len(source.shape)} dimensions by {axes}")
    if source.dynamic or target.dynamic:
        site.do(_dynamic_transpose, source, target, axes, site.bench)
        return
    turned = site.raw("src").transpose(axes)
    if turned.size != target.size:
        raise site.fault("SIM-SHAPE", f"dma_transpose of {source.shape} to {target.shape}")
    if turned.shape == target.shape:
        site.cast(turned, source.dtype, "dst")
        return
    work = site.work(turned.shape, turned.dtype)
    site.do(np.copyto, work, turned)
    site.cast(work.reshape(target.shape), source.dtype, "dst")


def _dynamic_transpose(source: Operand, target: Operand, axes: list[int], bench: Bench) -> None:
    values, valid = source.get()
    turned = converted(values, source.dtype, target.dtype, bench).transpose(axes).reshape(target.shape)
    if valid is not None:
        there = _rows(valid, values.shape).transpose(axes).reshape(target.shape)
        turned = np.where(there, turned, target.get()[0])
    target.put(turned)


@defines("dma_compute")
def dma_compute(site: Site) -> None:
    """dst = the sum of the sources, each times its scale, in float32; sources and destination may be gathered.

    Rows that are added to are promised to be unique (``nki.isa.dma_compute``). Where data break that, the last sum of a
    row stays, or each adds to the one before it, by lot.
    """
    if site["reduce_op"] != "add":
        raise site.missing(f"with reduce_op={site['reduce_op']}")
    names = [f"src{i}" for i in range(16) if site.has(f"src{i}")]
    scales = site["scales"] or [1.0] * len(names)
    if len(scales) != len(names):
        raise site.fault("SIM-SHAPE", f"dma_compute has {len(names)} sources and {len(scales)} scales")
    sources = [site.operand(name) for name in names]
    site.do(_dma_sum, sources, [site.number(s) for s in scales], site.operand("dst"), site.bench)


def _dma_sum(sources: list[Operand], scales: list[Any], target: Operand, bench: Bench) -> None:
    for rows in target.rounds():
        target.put(_sum_of(sources, scales, target, bench), rows)


def _sum_of(sources: list[Operand], scales: list[Any], target: Operand, bench: Bench) -> Array:
    total = np.zeros(target.shape, bench.formats.working)
    keep: Array | None = None
    for source, scale in zip(sources, scales, strict=True):
        values, valid = source.get()
        part = values.astype(bench.formats.working)
        total += (part if scale == 1 else part * scale).reshape(target.shape)
        if valid is not None:
            there = _rows(valid, values.shape).reshape(target.shape)
            keep = there if keep is None else keep & there
    result = converted(total, "float32", target.dtype, bench)
    return result if keep is None else np.where(keep, result, target.get()[0])


def _rows(valid: Array, shape: tuple[int, ...]) -> Array:
    """Which elements are valid, of which that may be said by rows of the first dimension."""
    if valid.shape == shape:
        return valid
    return np.broadcast_to(valid.reshape(-1, *(1,) * (len(shape) - 1)), shape)


@defines("tensor_copy_predicated")
def tensor_copy_predicated(site: Site) -> None:
    """dst = src where the predicate is not zero (or is zero, reversed), unchanged elsewhere."""
    slots = ["dst", "predicate", *(["src"] if site.has("src") else [])]
    shape = site.shape(*slots)
    predicate = site.raw("predicate", shape)
    target = site.raw_target("dst", shape, keep=True)
    mask = site.work(shape, np.bool_)
    site.do(np.equal if site["reverse_pred"] else np.not_equal, predicate, 0, out=mask)
    if not site.has("src"):
        given = np.full(1, site["src_value"], site.formats.working)
        value = converted(given, "float32", site.operand("dst").dtype, site.bench)[0]
        site.do(np.copyto, target, value, where=mask)
        return
    source, wanted = site.operand("src"), site.operand("dst").dtype
    values = site.raw("src", shape)
    if source.dtype != wanted:
        changed = site.work(shape, site.formats.stored(wanted))
        site.do(_convert_into, values, source.dtype, wanted, site.bench, changed)
        values = changed
    site.do(np.copyto, target, values, where=mask)


def _convert_into(values: Array, source: str, target: str, bench: Bench, out: Array) -> None:
    np.copyto(out, converted(values, source, target, bench))


@defines("memset")
def memset(site: Site) -> None:
    """dst = a constant."""
    dtype = site.operand("dst").dtype
    value = site["value"]
    if dtype in dtypes.INTEGERS:
        limits = np.iinfo(dtypes.numpy_dtype(dtype))
        constant = dtypes.numpy_dtype(dtype).type(min(max(round(value), limits.min), limits.max))
    else:
        constant = site.formats.stored(dtype).type(site.number(value))
    target = site.raw_target("dst")
    site.do(target.fill, constant)


@defines("nc_stream_shuffle")
def nc_stream_shuffle(site: Site) -> None:
    """Within each 32 partitions, partition i takes partition mask[i]; 255 leaves it."""
    mask = site["shuffle_mask"]
    source, target = site.operand("src"), site.operand("dst")
    if len(mask) != QUADRANT or any(not (0 <= m < QUADRANT or m == UNMODIFIED) for m in mask):
        raise site.fault("SIM-MASK", "shuffle_mask must have 32 entries of 0 to 31 or 255")
    rows = [
        (p, p - p % QUADRANT + mask[p % QUADRANT]) for p in range(target.shape[0]) if mask[p % QUADRANT] != UNMODIFIED
    ]
    if any(taken >= source.shape[0] for _, taken in rows):
        raise site.fault("SIM-MASK", f"shuffle_mask reaches beyond the {source.shape[0]} partitions of src")
    values = site.raw("src", (source.shape[0], source.size // source.shape[0]))
    out = site.raw_target("dst", (target.shape[0], target.size // target.shape[0]), keep=True)
    to, taken = (np.array(column, np.intp) for column in (zip(*rows, strict=True) if rows else ((), ())))
    site.do(_assign_rows, out, to, values, taken)


def _assign_rows(out: Array, to: Array, values: Array, taken: Array) -> None:
    out[to] = values[taken]


@defines("nc_n_gather")
def nc_n_gather(site: Site) -> None:
    """dst[p, i] = data[p, indices[p, i]], free dimensions flattened."""
    data = site.operand("data")
    indices, target = site.operand("indices"), site.operand("dst")
    values = site.raw("data", (data.shape[0], data.size // data.shape[0]))
    chosen = site.raw("indices", (indices.shape[0], indices.size // indices.shape[0]))
    out = site.raw_target("dst", (target.shape[0], target.size // target.shape[0]))
    site.do(_gather_rows, values, chosen, out, site.line)


def _gather_rows(values: Array, indices: Array, out: Array, line: int) -> None:
    where = indices.astype(np.int64)
    if where.size and (where.min() < 0 or where.max() >= values.shape[1]):
        message = f"nc_n_gather index {int(where.max())} is outside the {values.shape[1]} elements of a partition"
        raise ExecutionError("SIM-OOB", message, line)
    out[...] = np.take_along_axis(values, where, axis=1)


@defines("local_gather")
def local_gather(site: Site) -> None:
    """Each GpSimd core gathers, from its 16 partitions, runs of elements that begin where its indices say."""
    source, index, target = site.operand("src_buffer"), site.operand("index"), site.operand("dst")
    run = site["num_elem_per_idx"]
    per_core = index.size // index.shape[0] * GPSIMD_CORE_PARTITIONS
    count = per_core if site["num_valid_indices"] is None else site["num_valid_indices"]
    if run < 1 or not 0 <= count <= per_core or target.size // target.shape[0] < count * run:
        raise site.fault("SIM-SHAPE", f"local_gather of {count} runs of {run} into {target.shape}")
    values = site.raw("src_buffer", (source.shape[0], source.size // source.shape[0]))
    chosen = site.raw("index", (index.shape[0], index.size // index.shape[0]))
    out = site.raw_target("dst", (target.shape[0], target.size // target.shape[0]), keep=True)
    site.do(_gather_cores, values, chosen, out, count, run, site.line)


def _gather_cores(values: Array, chosen: Array, out: Array, count: int, run: int, line: int) -> None:
    for start in range(0, values.shape[0], GPSIMD_CORE_PARTITIONS):
        core = slice(start, start + GPSIMD_CORE_PARTITIONS)
        indices = chosen[core].T.reshape(-1)[:count].astype(np.int64)  # partitions run fastest
        if indices.size and int(indices.max()) + run > values.shape[1]:
            message = (
                f"local_gather index {int(indices.max())} is outside the {values.shape[1]} elements of a partition"
            )
            raise ExecutionError("SIM-OOB", message, line)
        columns = (indices[:, None] + np.arange(run)).reshape(-1)
        out[core, : count * run] = values[core][:, columns]
