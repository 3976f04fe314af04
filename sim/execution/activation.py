"""The Scalar Engine: an activation function of scaled and shifted data, and the sum that it keeps per lane."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.choices import CHOOSING
from nki_anvil.sim.execution.functions import FUNCTIONS, Function
from nki_anvil.sim.execution.reduction import NOTHING_TO_LOAD
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.execution.tables import on_the_engine
from nki_anvil.sim.operations import RANGES
from nki_anvil.sim.rules.finding import Finding

Array = NDArray[Any]

RANGE_CODE = "TRN2-ACT-RANGE"
_REMEDY: Final = "Bring the argument into the range first, or compute it on the Vector Engine."
_REMEDIES: Final = {
    "sin": "Take whole turns off first, as nl.sin and nl.cos do: nisa.tensor_scalar of x / (2 pi) into int32 rounds,"
    " then nisa.scalar_tensor_tensor adds -2 pi times that to x.",
    "arctan": "Where the magnitude is above 1, take pi / 2 less the arctan of the reciprocal, with the sign of x.",
    "reciprocal": "Write nisa.reciprocal: the Vector Engine's holds for all numbers.",
}


@defines("activation")
def activation(site: Site) -> None:
    """dst = op(data * scale + bias); each lane's accumulator sums as reduce_cmd says and is read into reduce_res."""
    _activate(site, site["reduce_cmd"])


@defines("activation_reduce")
def activation_reduce(site: Site) -> None:
    """``activation`` with the accumulators reset first and read afterwards."""
    _activate(site, "reset_reduce")


def _activate(site: Site, command: str) -> None:
    shape = site.shape("dst", "data")
    values = _argument(site, shape)
    if site["op"] in RANGES:
        site.do(check_range, site.bench, site["op"], site.line, values)
    if site["op"] not in FUNCTIONS:
        raise site.missing(f"with op={site['op']}")
    out = site.target("dst", shape)
    _apply(site, on_the_engine(site["op"], site.bench), values, out)
    if command == "load_reduce":
        raise site.missing(NOTHING_TO_LOAD)
    site.settle("data", command, site.has("reduce_res"))
    if command == "reset":
        site.do(site.accumulators("data").fill, 0)
    if command in ("reduce", "reset_reduce"):
        _accumulate(site, out, command)
    if site.has("reduce_res"):
        lanes = site.accumulators("data")
        site.do(np.copyto, site.target("reduce_res", lanes.shape), lanes)


def _apply(site: Site, function: Function, values: Array, out: Array) -> None:
    if site["op"] in CHOOSING:
        site.choose(0, site["op"], partial(_of_one, function), values, None, out)
    else:
        site.do(function, values, out)


def _of_one(function: Function, values: Array, _: Any, out: Array) -> None:
    function(values, out)


def _argument(site: Site, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """data * scale + bias, without the stages that change nothing."""
    data = site.read("data", shape)
    scaled = site.has("scale") or site["scale_value"] not in (None, 1, 1.0)
    shifted = site.has("bias") or site["bias_value"] not in (None, 0, 0.0)
    scale = site.scalar("scale", "scale_value", shape, 1.0) if scaled else None
    bias = site.scalar("bias", "bias_value", shape) if shifted else None
    if not scaled and not shifted:
        return data
    work = site.work(shape)
    if scaled:
        site.do(np.multiply, data, scale, work)
        data = work
    if shifted:
        site.do(np.add, data, bias, work)
    return work


def _accumulate(site: Site, values: Array, command: str) -> None:
    if site["reduce_op"] not in (None, "add"):
        raise site.missing(f"with reduce_op={site['reduce_op']}")
    lanes = site.accumulators("data")
    axes = tuple(range(1, values.ndim))
    total = lanes if command == "reset_reduce" else site.work(lanes.shape)
    site.do(np.add.reduce, values, axes, None, total.reshape(-1))
    if command == "reduce":
        site.do(np.add, lanes, total, lanes)


def check_range(bench: Bench, op: str, line: int, values: Array) -> None:
    """Report values outside the function's table; zero is fine for a square root."""
    low, high = RANGES[op]
    if op == "reciprocal":
        values = np.abs(values)
    smallest, largest = float(values.min()), float(values.max())
    if not (smallest < low or largest > high):
        return
    if op == "sqrt" and largest <= high and not bool(((values < low) & (values != 0)).any()):
        return
    bench.report(
        Finding(
            code=RANGE_CODE,
            severity="warning",
            message=f"{op} of {smallest:.6g} to {largest:.6g}; its table holds from {low:.6g} to {high:.6g}",
            line=line,
            remedy=_REMEDIES.get(op, _REMEDY),
        )
    )
