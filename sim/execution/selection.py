"""Selects with a running maximum: by predicate tile, and by the position in a range."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.alu import FUNCTIONS
from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.reduction import accumulate, begin
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.rules.finding import Finding

Array = NDArray[Any]

BOUND_CODE: Final = "TRN2-RANGE-BOUND"
_LARGEST: Final = float(1 << 24)
"""Of a bound: float32 counts no further one by one."""


@defines("select_reduce")
def select_reduce(site: Site) -> None:
    """dst = on_true where the predicate holds, else on_false; the accumulators keep the maximum."""
    shape = site.shape("dst", "predicate", "on_true")
    predicate, chosen = site.raw("predicate", shape), site.read("on_true", shape)
    other = site.scalar("on_false", "on_false_value", shape)
    mask = site.work(shape, np.bool_)
    site.do(np.equal if site["reverse_pred"] else np.not_equal, predicate, 0, out=mask)
    _select(site, mask, chosen, other, shape, "predicate")


@defines("range_select")
def range_select(site: Site) -> None:
    """dst = on_true_tile where range_start + position compares with both bounds, else a constant; maximum kept."""
    flat = site.shape("dst", "on_true_tile")
    shape = (flat[0], math.prod(flat[1:]))
    chosen = site.read("on_true_tile", shape)
    bounds = site.column("bound0", shape), site.column("bound1", shape)
    site.do(_check_bounds, site.bench, site.line, *bounds)
    positions = (site["range_start"] + np.arange(shape[1])).astype(site.formats.working)
    mask, second = site.work(shape, np.bool_), site.work(shape, np.bool_)
    site.choose(0, site["comp_op0"], FUNCTIONS[site["comp_op0"]], positions, bounds[0], mask)
    site.choose(1, site["comp_op1"], FUNCTIONS[site["comp_op1"]], positions, bounds[1], second)
    site.do(np.logical_and, mask, second, mask)
    _select(site, mask, chosen, site.number(site["on_false_value"] or 0), shape, "on_true_tile")


def _check_bounds(bench: Bench, line: int, *bounds: Array) -> None:
    """Report bounds that range_select does not take; with poison 1 those of rows that nothing wrote may be any."""
    largest = max(float(np.fmax.reduce(np.abs(bound), axis=None)) for bound in bounds)
    if largest > _LARGEST and not bench.lots.poison:
        bench.report(
            Finding(
                code=BOUND_CODE,
                severity="error",
                message=f"range_select with a bound of {largest:.9g}; bounds are at most 2^24 = 16777216",
                line=line,
                remedy="Limit the bounds to the number of columns first, with nisa.tensor_scalar and nl.minimum.",
            )
        )


def _select(site: Site, mask: Array, chosen: Array, other: Any, shape: tuple[int, ...], lanes_of: str) -> None:
    middle = site.work(shape)
    site.do(np.copyto, middle, other)
    site.do(np.copyto, middle, chosen, where=mask)
    site.do(np.copyto, site.target("dst", shape), middle)
    command, op = site["reduce_cmd"], site["reduce_op"] or "maximum"
    lanes = begin(site, lanes_of, command, op, answers=site.has("reduce_res"))
    if command in ("reduce", "reset_reduce"):
        accumulate(site, middle, lanes, op)
    if site.has("reduce_res"):
        site.do(np.copyto, site.target("reduce_res", lanes.shape), lanes)
