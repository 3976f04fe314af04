"""Instructions that count: iota, and the select by an affine condition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.dtypes import INTEGERS, numpy_dtype
from nki_anvil.sim.execution.alu import FUNCTIONS
from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.conversion import from_working
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site


def affine(site: Site, partitions: int, elements: int) -> NDArray[np.int32]:
    """offset + partition * channel_multiplier + the pattern's steps, in 32-bit integers, as (partitions, elements)."""
    counts = [count for _, count in site["pattern"]]
    if int(np.prod(counts, dtype=np.float64)) != elements:
        raise site.fault("SIM-SHAPE", f"a pattern of {counts} for {elements} elements per partition")
    values = np.zeros((), np.int64)
    for step, count in site["pattern"]:
        values = values[..., None] + np.arange(count, dtype=np.int64) * step
    rows = np.arange(partitions, dtype=np.int64)[:, None] * site["channel_multiplier"]
    return (site["offset"] + rows + values.reshape(1, -1)).astype(np.int32)


@defines("iota")
def iota(site: Site) -> None:
    """dst = an affine function of partition and position."""
    operand = site.operand("dst")
    shape = (operand.shape[0], operand.size // operand.shape[0])
    values, dtype = affine(site, *shape), numpy_dtype(operand.dtype)
    if dtype.kind in "iu" and (dtype.itemsize < 4 or dtype.kind == "u") and not _holds(np.iinfo(dtype), values):
        site.do(_beyond, site.bench, values, site.raw_target("dst", shape))
    else:
        site.cast(values, "int32", "dst")


def _holds(limits: np.iinfo[Any], values: NDArray[np.int32]) -> bool:
    return not values.size or bool(limits.min <= values.min() and values.max() <= limits.max)


def _beyond(bench: Bench, values: NDArray[np.int32], out: NDArray[Any]) -> None:
    """What an integer makes of a number that it does not hold, no page of iota says: it begins anew, or ends there."""
    limits = np.iinfo(out.dtype)
    ended = np.clip(values.astype(np.int64), limits.min, limits.max)
    np.copyto(out, values if bench.lots.other("iota") else ended, casting="unsafe")


@defines("affine_select")
def affine_select(site: Site) -> None:
    """dst = on_true_tile where an affine function compares with zero, else a constant."""
    flat = site.shape("dst", "on_true_tile")
    shape = (flat[0], int(np.prod(flat[1:])))
    values = affine(site, *shape)
    mask = np.empty(shape, np.bool_)
    FUNCTIONS[site["cmp_op"]](values, 0, mask)
    if site.operand("dst").dtype == site.operand("on_true_tile").dtype in INTEGERS:
        _select_integers(site, shape, mask)
        return
    tile: Any = site.read("on_true_tile", shape)
    out, middle = site.target("dst", shape), site.work(shape)
    site.do(middle.fill, site.number(site["on_false_value"] or 0))
    site.do(np.copyto, middle, tile, where=mask)
    site.do(np.copyto, out, middle)


def _select_integers(site: Site, shape: tuple[int, int], mask: NDArray[np.bool_]) -> None:
    """What keeps its format goes through no other; the constant is float32."""
    tile, out = site.raw("on_true_tile", shape), site.raw_target("dst", shape)
    constant, middle = site.work((1, 1)), site.work(shape, out.dtype)
    other = site.work((1, 1), out.dtype)
    site.do(constant.fill, site.number(site["on_false_value"] or 0))
    site.do(from_working(site.operand("dst").dtype, site.bench), constant, other)
    site.do(np.copyto, middle, other)
    site.do(np.copyto, middle, tile, where=mask)
    site.do(np.copyto, out, middle)
