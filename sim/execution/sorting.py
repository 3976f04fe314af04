"""Instructions that find: the eight largest, their positions, the first occurrences, non-zero positions, segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site

Array = NDArray[Any]

EIGHT = 8
GPSIMD_CORE_PARTITIONS = 16


@defines("max8")
def max8(site: Site) -> None:
    """dst[8] = the eight largest elements of each partition, largest first."""
    values = site.rows("src")
    if values.shape[1] < EIGHT or site.operand("dst").size != EIGHT * values.shape[0]:
        raise site.fault("SIM-SHAPE", f"max8 of {values.shape} into {site.operand('dst').shape}")
    site.do(_largest, site.bench, values, site.target("dst", (values.shape[0], EIGHT)))


def _largest(bench: Bench, values: Array, out: Array) -> None:
    top = np.partition(_ordered(bench, values), values.shape[1] - EIGHT, axis=1)[:, -EIGHT:]
    out[...] = np.sort(top, axis=1)[:, ::-1]


def _ordered(bench: Bench, values: Array) -> Array:
    """What is no number comes last among those that are, or first: told nowhere."""
    first = bench.lots.other("no number", "order")
    return np.where(np.isnan(values), -np.inf, values) if first else values


def occurrences(row: Array, wanted: Array, order: Any) -> Array:
    """For each wanted value, in the order given, the first position not yet taken by an equal one; -1 where none is."""
    found = np.full(len(wanted), -1, np.int64)
    seen: dict[float, Iterator[int]] = {}
    for slot in order:
        value = float(wanted[slot])
        if value not in seen:
            seen[value] = iter(np.flatnonzero(row == wanted[slot]).tolist())
        found[slot] = next(seen[value], -1)
    return found


@defines("nc_find_index8")
def nc_find_index8(site: Site) -> None:
    """dst[8] = where each of eight values first occurs, equal values in ascending order.

    Where none does, all ones where that is ``marked``; else its behaviour is undefined, and it may be the first place.
    """
    data, wanted = site.rows("data"), site.rows("vals")
    if wanted.shape != (data.shape[0], EIGHT):
        raise site.fault("SIM-SHAPE", f"nc_find_index8 takes 8 values per partition, not {wanted.shape}")
    out = site.raw_target("dst", (data.shape[0], EIGHT))
    site.do(_find, site.bench, data, wanted, site["marked"], out)


def _find(bench: Bench, data: Array, wanted: Array, marked: bool, out: Array) -> None:
    found = np.stack([occurrences(row, values, range(EIGHT)) for row, values in zip(data, wanted, strict=True)])
    np.copyto(out, found if marked else _with_absent(bench, found), casting="unsafe")  # -1 becomes all ones


def _with_absent(bench: Bench, found: Array) -> Array:
    """Places of which the documents do not say what stands for a value that is not there."""
    return np.where(found < 0, 0, found) if bench.lots.other("absent") else found


@defines("nc_match_replace8")
def nc_match_replace8(site: Site) -> None:
    """dst = data with the first occurrence of each of eight values replaced; dst_idx takes their positions.

    Equal values take theirs from the last on; where that is not documented, or otherwise, in either order.
    """
    shape = site.shape("dst", "data")
    data, wanted = site.rows("data"), site.rows("vals")
    if wanted.shape != (data.shape[0], EIGHT):
        raise site.fault("SIM-SHAPE", f"nc_match_replace8 takes 8 values per partition, not {wanted.shape}")
    out = site.target("dst", (shape[0], data.shape[1]))
    places = site.raw_target("dst_idx", (data.shape[0], EIGHT)) if site.has("dst_idx") else None
    told = site["descending"]
    site.do(_replace, site.bench, data, wanted, site.number(site["imm"]), told, out, places)


def _replace(
    bench: Bench, data: Array, wanted: Array, value: Any, descending: bool, out: Array, places: Array | None
) -> None:
    result = np.array(data)
    ascending = not descending and bench.lots.other("equals of nc_match_replace8")
    slots = range(EIGHT) if ascending else range(EIGHT - 1, -1, -1)
    for partition, values in enumerate(np.array(wanted)):
        found = occurrences(result[partition], values, slots)
        result[partition, found[found >= 0]] = value
        if places is not None:
            np.copyto(places[partition], _with_absent(bench, found), casting="unsafe")
    out[...] = result


@defines("nonzero_with_count")
def nonzero_with_count(site: Site) -> None:
    """In every sixteenth partition: positions of the non-zero elements, padding, and at the end their number."""
    source, target = site.operand("src"), site.operand("dst")
    width = source.size // source.shape[0]
    if target.shape[0] != source.shape[0] or target.size != source.shape[0] * (width + 1):
        raise site.fault("SIM-SHAPE", f"nonzero_with_count of {source.shape} into {target.shape}")
    values = site.raw("src", (source.shape[0], width))
    out = site.raw_target("dst", (source.shape[0], width + 1), keep=True)
    site.do(_nonzero, values, out, site["index_offset"], site["padding_val"])


def _nonzero(values: Array, out: Array, offset: int, padding: int) -> None:
    for partition in range(0, values.shape[0], GPSIMD_CORE_PARTITIONS):
        found = np.flatnonzero(values[partition])
        out[partition] = padding
        out[partition, : len(found)] = found + offset
        out[partition, -1] = len(found)


@defines("sequence_bounds")
def sequence_bounds(site: Site) -> None:
    """For each element, where its segment begins and ends; elements of segment 0 get (n, -1).

    Segments are not negative (``nki.isa.sequence_bounds``): of those that are, either may be told.
    """
    source, target = site.operand("segment_ids"), site.operand("dst")
    if source.shape[0] != 1 or target.size != 2 * source.size:
        raise site.fault("SIM-SHAPE", f"sequence_bounds of {source.shape} into {target.shape}")
    site.do(_bounds, site.bench, site.read("segment_ids", (source.size,)), site.target("dst", (2, source.size)))


def _bounds(bench: Bench, ids: Array, out: Array) -> None:
    size = len(ids)
    changes = np.flatnonzero(np.diff(ids) != 0) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [size]])
    bounds = np.repeat(np.stack([starts, ends]).astype(out.dtype), ends - starts, axis=1)
    bounds[:, ids <= 0 if bench.lots.other("segments") else ids == 0] = [[size], [-1]]
    out[...] = bounds


@defines("topk")
def topk(site: Site) -> None:
    """The K largest of n elements that lie column by column over 16 partitions, with their positions.

    All of them in each partition, ascending, until NKI 0.6; since 0.7 where the K first elements of such a snake lie,
    in any order (``nki.isa.topk`` of SDK 2.32 and 2.33). What the snake's last column holds beside them, and which of
    equals are taken, is told nowhere: by lot.
    """
    source, values, places = site.operand("src"), site.operand("val_dst"), site.operand("idx_dst")
    count, rows = values.size // values.shape[0], source.shape[0]
    width = source.size // rows
    if rows % GPSIMD_CORE_PARTITIONS or not 1 <= count <= site["n"] <= width * GPSIMD_CORE_PARTITIONS:
        raise site.fault("SIM-SHAPE", f"topk of {count} among {site['n']} in {source.shape}")
    if values.size != places.size or values.shape[0] != rows:
        raise site.fault("SIM-SHAPE", f"topk into {values.shape} and {places.shape}")
    data = site.read("src", (rows, width))
    out = site.target("val_dst", (rows, count), keep=True)
    where = site.raw_target("idx_dst", (rows, count), keep=True)
    site.do(_topk, site.bench, data, site["n"], _as_a_snake if site["snake"] else _in_each_partition, out, where)


def _topk(bench: Bench, data: Array, n: int, lay: Callable[..., None], out: Array, where: Array) -> None:
    count, back = out.shape[1], -1 if bench.lots.other("topk") else 1
    for start in range(0, data.shape[0], GPSIMD_CORE_PARTITIONS):
        core = slice(start, start + GPSIMD_CORE_PARTITIONS)
        snake = data[core].T.reshape(-1)[:n]
        chosen = np.arange(n)[::back][np.argsort(_ordered(bench, snake)[::back], kind="stable")[-count:]]
        lay(bench, out[core], snake[chosen])
        lay(bench, where[core], chosen)


def _in_each_partition(_: Bench, out: Array, found: Array) -> None:
    np.copyto(out, found, casting="unsafe")


def _as_a_snake(bench: Bench, out: Array, found: Array) -> None:
    columns = -(-len(found) // GPSIMD_CORE_PARTITIONS)
    snake = out[:, :columns].T.reshape(-1)
    snake[: len(found)] = found[bench.lots.order(len(found), "topk")]
    if bench.lots.other("topk", "beside"):
        snake[len(found) :] = 0
    out[:, :columns] = snake.reshape(columns, -1).T
