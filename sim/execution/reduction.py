"""Reductions along the free dimensions or across partitions, and scans, which carry a value from column to column."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.alu import IDENTITIES, REDUCERS
from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.choices import KEEPING, beginning
from nki_anvil.sim.execution.conversion import converted
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.execution.untold import EXTREMES, Extreme
from nki_anvil.sim.operations import BITVEC

Array = NDArray[Any]


def reducer(site: Site, name: str) -> Any:
    """What reduces as a ufunc does; raises NotSimulated for a name without one."""
    if name not in REDUCERS:
        raise site.missing(f"with {name} as its reduction")
    return Extreme(site.bench, name) if name in EXTREMES else REDUCERS[name]


@defines("tensor_reduce")
def tensor_reduce(site: Site) -> None:
    """dst = op over the last free dimensions of data, negated on request."""
    data = site.operand("data")
    axes = sorted(axis % len(data.shape) for axis in site["axes"])
    if not axes or axes[0] == 0 or axes != list(range(axes[0], len(data.shape))):
        raise site.fault("SIM-AXES", f"tensor_reduce over {site['axes']}: only trailing free dimensions can be reduced")
    kept = data.shape[: axes[0]]
    shape = (*kept, math.prod(data.shape[axes[0] :]))
    function, bits = reducer(site, site["op"]), site["op"] in BITVEC
    values = site.raw("data", shape) if bits else site.read("data", shape)
    out = site.raw_target("dst", kept) if bits else site.target("dst", kept)
    site.do(function.reduce, values, -1, None, out)
    if site["op"] in EXTREMES:
        site.note_standing(values, out)
    if site["op"] == "average":
        site.do(np.multiply, out, site.number(1 / shape[-1]), out)
    if site["negate"]:
        site.do(np.negative, out, out)


@defines("tensor_partition_reduce")
def tensor_partition_reduce(site: Site) -> None:
    """dst = op across the partitions of data."""
    data, target = site.operand("data"), site.operand("dst")
    width = data.size // data.shape[0]
    if target.size != width:
        raise site.fault("SIM-SHAPE", f"tensor_partition_reduce of {data.shape} into {target.shape}")
    bits = site["op"] in BITVEC
    function = reducer(site, site["op"])
    values = site.raw("data", (data.shape[0], width)) if bits else site.rows("data")
    out = site.raw_target("dst", (width,)) if bits else site.target("dst", (width,))
    site.do(function.reduce, values, 0, None, out)
    if site["op"] in EXTREMES:
        site.note_standing(values.T, out)
    if site["op"] == "average":
        site.do(np.multiply, out, site.number(1 / data.shape[0]), out)


NOTHING_TO_LOAD: Final = "with reduce_cmd=load_reduce, which it has no value for,"
"""Of instructions that take no initial value."""


def begin(
    site: Site, slot: str, command: str, op: str, initial: Any = None, *, answers: bool = False
) -> NDArray[np.float32]:
    """The accumulators of an operand's lanes, reset or loaded as a command says; who ``answers`` reads them."""
    lanes = site.accumulators(slot)
    site.settle(slot, command, answers)
    if command in ("reset", "reset_reduce"):
        if op not in IDENTITIES:
            raise site.missing(f"with {op} as its reduction")
        site.do(lanes.fill, IDENTITIES[op])
    elif command == "load_reduce":
        if initial is None:
            raise site.missing(NOTHING_TO_LOAD)
        site.do(np.copyto, lanes, initial)
    return lanes


def accumulate(site: Site, values: Array, lanes: Array, op: str) -> None:
    """Reduce values along their free dimensions onto the accumulators."""
    function = reducer(site, op)
    total = site.work(lanes.shape)
    flat = values.reshape(values.shape[0], -1) if values.ndim == 2 else values
    site.do(_reduce_free, function, flat, total)
    site.choose(KEEPING, op, function, lanes, total, lanes)


def _reduce_free(function: Any, values: Array, total: Array) -> None:
    function.reduce(values.reshape(values.shape[0], -1), 1, None, total[:, 0])


@defines("tensor_scalar_reduce")
def tensor_scalar_reduce(site: Site) -> None:
    """dst = data op0 operand0; the accumulators reduce that, and are read into reduce_res.

    Whether they take it as dst holds it, its page says both ways: a lot is drawn.
    """
    shape = site.shape("dst", "data")
    data, operand = site.read("data", shape), site.scalar("operand0", "value0", shape)
    out, op = site.target("dst", shape), site["reduce_op"] or "add"
    initial = site.scalar("reduce_init", "reduce_init_value", (shape[0], 1))
    lanes = begin(site, "data", site["reduce_cmd"], op, initial, answers=site.has("reduce_res"))
    site.operate(0, site["op0"], data, operand, out, site["reverse0"])
    if site["reduce_cmd"] not in ("idle", "reset"):
        accumulate(site, _kept(site, out), lanes, op)
    if site.has("reduce_res"):
        site.do(
            np.negative if site["reduce_res_negate"] else np.positive, lanes, site.target("reduce_res", lanes.shape)
        )


def _kept(site: Site, values: Array) -> Array:
    """What is reduced of a result: itself, or what its format leaves of it."""
    dtype = site.operand("dst").dtype
    if site.formats.stored(dtype) == site.formats.working and not site.formats.shortens(dtype):
        return values
    kept = site.work(values.shape)
    site.do(_keep, site.bench, dtype, values, kept)
    return kept


def _keep(bench: Bench, dtype: str, values: Array, kept: Array) -> None:
    rounded = bench.lots.other("reduced as kept")
    np.copyto(kept, converted(values, "float32", dtype, bench) if rounded else values, casting="unsafe")


@defines("tensor_scalar_cumulative")
def tensor_scalar_cumulative(site: Site) -> None:
    """dst[i] = op1(op0(src[i], operand0), dst[i-1]), beginning with the accumulators."""
    shape = site.shape("dst", "src")
    flat = (shape[0], math.prod(shape[1:]))
    values, operand = site.read("src", flat), site.scalar("operand0", "value0", flat)
    initial = site.scalar("operand1", "value1", (shape[0], 1))
    lanes = begin(site, "src", site["reduce_cmd"], site["op1"], initial, answers=True)
    middle, out = site.work(flat), site.target("dst", flat)
    site.operate(0, site["op0"], values, operand, middle)
    begins, goes_on = (site.operator(stage, site["op1"]) for stage in (KEEPING, 1))
    site.do(_cumulate, begins, goes_on, middle, lanes, out)


def _cumulate(begins: Any, goes_on: Any, values: Array, lanes: Array, out: Array) -> None:
    state = np.array(lanes[:, 0])
    for column in range(values.shape[1]):
        (goes_on if column else begins)(values[:, column], state, state)
        out[:, column] = state
    lanes[:, 0] = state


@defines("tensor_tensor_scan")
def tensor_tensor_scan(site: Site) -> None:
    """dst[i] = (data0[i] op0 dst[i-1]) op1 data1[i], beginning with initial; the state stays in float32."""
    shape = site.shape("dst", "data0", "data1")
    flat = (shape[0], math.prod(shape[1:]))
    first, second = site.read("data0", flat), site.read("data1", flat)
    initial = site.scalar("initial", "initial_value", flat)
    ops = [(site[f"op{stage}"], site[f"reverse{stage}"]) for stage in (0, 1)]
    goes_on = [site.operator(stage, *op) for stage, op in enumerate(ops)]
    first_chooser = beginning(*(op for op, _ in ops))
    begins = [site.operator(KEEPING if stage == first_chooser else stage, *op) for stage, op in enumerate(ops)]
    site.do(_scan, begins, goes_on, first, second, initial, site.target("dst", flat))


def _scan(begins: Any, goes_on: Any, first: Array, second: Array, initial: Any, out: Array) -> None:
    columns, states = np.ascontiguousarray(first.T), np.array(second.T, order="C")  # overwritten: never data1 itself
    state = np.empty(first.shape[0], first.dtype)
    state[:] = initial[:, 0] if isinstance(initial, np.ndarray) else initial
    op0, op1 = begins
    for left, right in zip(columns, states, strict=True):  # a log-step scan is no faster and far less accurate
        op0(left, state, right_hand := np.empty_like(state))
        op1(right_hand, right, state)
        right[:] = state
        op0, op1 = goes_on
    out[...] = states.T
