"""Elementwise instructions of the vector, scalar and GpSimd engines: float32 inside, bit operators on integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.alu import operation
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.shifting import bit_operation
from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.execution.words import word_operation
from nki_anvil.sim.operations import BITVEC, COMPARISONS, LOGICAL, WORDS, exact

Array = NDArray[Any]


@defines("tensor_tensor")
def tensor_tensor(site: Site) -> None:
    """dst = data1 op data2."""
    shape = site.shape("dst", "data1", "data2")
    op = site["op"]
    if op in BITVEC:
        _bits(site, shape, op)
    elif _exact_integers(site, op):
        _words(site, shape, op)
    else:
        first, second = site.read("data1", shape), site.read("data2", shape)
        site.operate(0, op, first, second, site.target("dst", shape))


def _exact_integers(site: Site, op: str) -> bool:
    """GpSimd computes in integers where all operands are 32-bit ones and the version says so of the operator."""
    formats = {site.operand(slot).dtype for slot in ("dst", "data1", "data2")}
    return site.engine == "gpsimd" and formats <= WORDS and op in exact(site.memory.program.version)


def _words(site: Site, shape: tuple[int, ...], op: str) -> None:
    first, second = site.raw("data1", shape), site.raw("data2", shape)
    out = site.raw_target("dst", shape)
    if first.dtype != second.dtype and op in COMPARISONS | {"maximum", "minimum"}:
        raise site.fault("SIM-WORDS", f"{op} compares int32 with uint32, and no page says as which: view both as one")
    if op in COMPARISONS | LOGICAL:
        site.choose(0, op, operation(op), first, second, out.view(np.int32))
    else:
        kind = out.dtype
        site.choose(0, op, word_operation(site.bench, op), first.view(kind), second.view(kind), out)


def _bits(site: Site, shape: tuple[int, ...], op: str) -> None:
    kind = _pattern_type(site, "dst")
    first, second = (site.raw(slot, shape).view(_pattern_type(site, slot)) for slot in ("data1", "data2"))
    site.do(bit_operation(site.bench, op), first, second, site.raw_target("dst", shape).view(kind), casting="unsafe")


def _pattern_type(site: Site, slot: str) -> np.dtype[Any]:
    """The unsigned type of an integer operand's width: shifts are logical."""
    operand = site.operand(slot)
    if operand.dtype not in dtypes.INTEGERS:
        raise site.fault("SIM-BITS", f"bit operators take integers; {slot} is {operand.dtype}")
    return np.dtype(f"u{dtypes.size_of(operand.dtype)}")


@defines("tensor_scalar")
def tensor_scalar(site: Site) -> None:
    """dst = (data op0 operand0) op1 operand1, operands of one value per partition or immediate."""
    shape = site.shape("dst", "data")
    if site["op0"] in BITVEC:
        _scalar_bits(site, shape)
        return
    data = site.read("data", shape)
    first = _second_operand(site, 0, shape)
    second = None if site["op1"] is None else _second_operand(site, 1, shape)
    out = site.target("dst", shape)
    if site["op1"] is None:
        site.operate(0, site["op0"], data, first, out, site["reverse0"])
        return
    middle = site.work(shape)
    site.operate(0, site["op0"], data, first, middle, site["reverse0"])
    site.operate(1, site["op1"], middle, second, out, site["reverse1"])


def _second_operand(site: Site, position: int, shape: tuple[int, ...]) -> Any:
    return site.scalar(f"operand{position}", f"value{position}", shape)


def _scalar_bits(site: Site, shape: tuple[int, ...]) -> None:
    kind = _pattern_type(site, "data")
    values = site.raw("data", shape).view(kind)
    out = site.raw_target("dst", shape).view(_pattern_type(site, "dst"))
    stages = [
        (site[f"op{i}"], site[f"reverse{i}"], _bit_operand(site, i, kind, shape)) for i in (0, 1) if site[f"op{i}"]
    ]
    for op, reverse, operand in stages[:-1]:
        middle = site.work(shape, kind)
        site.do(bit_operation(site.bench, op, reverse), values, operand, middle)
        values = middle
    op, reverse, operand = stages[-1]
    final = site.work(shape, kind)
    site.do(bit_operation(site.bench, op, reverse), values, operand, final)
    site.do(np.copyto, out, final, casting="unsafe")


def _bit_operand(site: Site, position: int, kind: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    slot = f"operand{position}"
    if site.has(slot):
        source = site.operand(slot)
        column = site.raw(slot, (source.shape[0],) + (1,) * (len(shape) - 1))
        work = site.work(column.shape, kind)
        site.do(np.copyto, work, column, casting="unsafe")
        return work
    value = site[f"value{position}"]
    return kind.type(int(value or 0) & ((1 << (8 * kind.itemsize)) - 1))


@defines("scalar_tensor_tensor")
def scalar_tensor_tensor(site: Site) -> None:
    """dst = (data op0 operand0) op1 operand1, operand0 per partition or immediate, operand1 a whole tile."""
    shape = site.shape("dst", "data", "operand1")
    data, last = site.read("data", shape), site.read("operand1", shape)
    first = _second_operand(site, 0, shape)
    out, middle = site.target("dst", shape), site.work(shape)
    site.operate(0, site["op0"], data, first, middle, site["reverse0"])
    site.operate(1, site["op1"], middle, last, out, site["reverse1"])


@defines("reciprocal")
def reciprocal(site: Site) -> None:
    """dst = 1 / data."""
    shape = site.shape("dst", "data")
    site.do(np.reciprocal, site.read("data", shape), site.target("dst", shape))


@defines("dropout")
def dropout(site: Site) -> None:
    """dst = data with elements set to zero with the given probability."""
    shape = site.shape("dst", "data")
    data, chance = site.read("data", shape), site.scalar("prob", "prob_value", shape)
    site.do(_drop, data, chance, site.target("dst", shape), site.bench)


def _drop(data: Array, chance: Any, out: Array, bench: Any) -> None:
    kept = bench.generators[bench.core].random(data.shape, dtype=np.float32) >= chance
    np.copyto(out, np.where(kept, data, np.float32(0)))


@defines("rng")
def rng(site: Site) -> None:
    """dst = random bits, as many as its integer format holds."""
    operand = site.operand("dst")
    if operand.dtype not in dtypes.INTEGERS:
        raise site.fault("SIM-BITS", f"rng writes integers, not {operand.dtype}")
    site.do(_random_bits, site.raw_target("dst"), site.bench)


def _random_bits(out: Array, bench: Any) -> None:
    words = bench.generators[bench.core].integers(0, 1 << 32, out.shape, dtype=np.uint32)
    np.copyto(out, words.astype(f"u{out.dtype.itemsize}").view(out.dtype))


@defines("set_rng_seed")
def set_rng_seed(site: Site) -> None:
    """The vector engine's generator begins anew from a seed."""
    site.do(_seed, site.raw("src_seeds"), site.bench)


@defines("rand_set_state")
def rand_set_state(site: Site) -> None:
    """The generator begins anew from the lanes' seeds."""
    site.do(_seed, site.raw("src_seeds"), site.bench)


@defines("rand_get_state")
def rand_get_state(site: Site) -> None:
    """dst = words from which rand_set_state resumes the numbers that follow."""
    site.do(_take_state, site.raw_target("dst"), site.bench)


def _take_state(out: Array, bench: Any) -> None:
    _random_bits(out, bench)
    _seed(out, bench)


def _seed(values: Array, bench: Any) -> None:
    bench.generators[bench.core] = np.random.default_rng(list(np.ascontiguousarray(values).tobytes()))
