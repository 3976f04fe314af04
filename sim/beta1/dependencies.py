"""Whether the iterations of ``nl.affine_range`` stand for themselves: each writes places of its own.

So do the programs of a launch, which may write one place alike but read nothing that another writes.

Accumulation (``+=``, ``nl.loop_reduce``) is the one exception that Beta 1 allows; its loop does not read the sum.
"""

from __future__ import annotations

import linecache
import re
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import WIDTHS
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import NONE, SCHEMA

Rows = NDArray[np.int64]
Pattern: TypeAlias = list[tuple[int, int]]

ACCUMULATES: Final = 2
"""The flag of an instruction that adds to what is there."""

_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_FLAG: Final = len(SCHEMA["instructions"])
_MOVES: Final = len(SCHEMA["accesses"]) + 1
_UPDATING: Final = frozenset(NAMES.index(name) for name in NAMES if TABLE[name].updates and name != "nc_matmul")
_MATMUL: Final = NAMES.index("nc_matmul")
_MOST: Final = 1 << 10
"""Pairs of a write and a read of one tensor that are compared one by one."""
_TURNS: Final = 32
"""Iterations that are paired one by one."""
_LOOP: Final = re.compile(r"\bfor\s+(\w+)\s+in\b")


def check(loop: Any, times: int, sites: Rows, instructions: Rows, first_tensor: int, recorder: Any) -> None:
    """Refuse a body that writes, in every iteration, the same place outside of it; or reads what another one writes."""
    launch = loop.kind == "grid"
    if not (launch or loop.kind == "affine") or loop.trips < 2 or not len(instructions):
        return
    depths = (sites.shape[1] - _MOVES) // 2
    turns, shifts = _MOVES + loop.depth - 1, _MOVES + depths + loop.depth - 1
    owner, slot, used = operands_of(instructions, sites, recorder.sites_before())
    outside = (used[:, 0] != NONE) & (used[:, 0] < first_tensor)
    writes = outside & (slot < WRITES[instructions[owner, _INSTRUCTION["opcode"]]])
    still = (used[:, turns] == 0) & (used[:, shifts] == 0) & (used[:, _SITE["vector_access"]] == NONE)
    plain = _plain_writes(instructions, recorder.attribute_records())
    for place in np.flatnonzero(writes & still & plain[owner] & (not launch)).tolist():
        line = int(instructions[owner[place], _INSTRUCTION["line"]])
        tensor = int(used[place, 0])
        key = (line, tensor, int(used[place, _SITE["offset"]]))
        if times > 1 or key in loop.undeclared:
            raise _missing(loop, line, recorder.name_of(tensor))
        loop.undeclared[key] = True
    if times > 1:
        moving = outside & (used[:, turns] != 0)
        lines = instructions[owner, _INSTRUCTION["line"]]
        _carried(loop, times, lines, used, writes, moving, recorder, turns)
        along = outside & (used[:, turns] == 0) & (used[:, _SITE["vector_access"]] == NONE)
        along &= (launch | (used[:, shifts] != 0) | ~writes) & (used[:, _SITE["scalar_access"]] == NONE)
        adding = adding_to(instructions, recorder.attribute_records())[owner]
        summed = outside & still & writes & adding & (not launch)
        for chosen in (along & ~adding, summed | (outside & still & ~writes & ~adding)):
            _met(loop, times, lines[chosen], used[chosen], writes[chosen], recorder, shifts)


def operands_of(instructions: Rows, sites: Rows, base: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Rows]:
    """Of each operand: its instruction, its slot and its site."""
    counts = instructions[:, _INSTRUCTION["operands"]]
    owner = np.repeat(np.arange(len(instructions)), counts)
    slot = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, slot, sites[instructions[owner, _INSTRUCTION["first_operand"]] - base + slot]


def _plain_writes(instructions: Rows, attributes: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Instructions that overwrite: no accumulation, no update of a destination."""
    updating = np.isin(instructions[:, _INSTRUCTION["opcode"]], list(_UPDATING))
    return ~updating & ~adding_to(instructions, attributes)


def adding_to(instructions: Rows, attributes: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Instructions that accumulate: a matmul onto earlier ones, or a ``+=``."""
    matmul = instructions[:, _INSTRUCTION["opcode"]] == _MATMUL
    open_or_on = np.array([record.get("accumulate", False) is not False for record in attributes], np.bool_)
    onto = matmul & open_or_on[instructions[:, _INSTRUCTION["attributes"]]]
    return onto | (instructions[:, _FLAG] == ACCUMULATES)


def _carried(
    loop: Any,
    times: int,
    lines: NDArray[np.int64],
    used: Rows,
    writes: NDArray[np.bool_],
    moving: NDArray[np.bool_],
    recorder: Any,
    turns: int,
) -> None:
    """Refuse a read of a block that another iteration writes.

    Blocks that one expression reaches in different iterations are those of one tensor that leave the same remainder by
    its step; where a read and a write of them differ in the quotient, they meet in another iteration.
    """
    chosen = np.flatnonzero(moving)
    step = used[chosen, turns]
    quotient = used[chosen, 0] // step
    family = np.stack([recorder.declared_at(used[chosen, 0]), step, used[chosen, 0] - quotient * step], axis=1)
    _, group = np.unique(family, axis=0, return_inverse=True)
    group = group.reshape(-1)
    written = writes[chosen]
    if not written.any() or written.all():
        return
    quotient = quotient - int(quotient.min())
    key = group * (int(quotient.max()) + times + 1) + quotient
    known = np.unique(key[written])
    after = cast("NDArray[np.int64]", np.searchsorted(known, key, side="right"))
    before = cast("NDArray[np.int64]", np.searchsorted(known, key, side="left")) - 1
    above = known[np.minimum(after, len(known) - 1)] - key
    below = key - known[np.maximum(before, 0)]
    meets = ~written & (((above > 0) & (above < times)) | ((below > 0) & (below < times)))
    for place in chosen[meets].tolist():
        raise dependent(loop, int(lines[place]), recorder.name_of(int(used[place, 0])))


def _met(loop: Any, times: int, lines: Rows, used: Rows, writes: NDArray[np.bool_], recorder: Any, shifts: int) -> None:
    """Refuse a read of a part of a tensor that another iteration writes."""
    tensors = used[:, _SITE["tensor"]]
    looks = used[:, [_SITE[name] for name in ("dtype", "offset", "first_pair", "pairs")] + [shifts]]
    for tensor in np.intersect1d(tensors[writes], tensors[~writes]).tolist():
        mine = tensors == tensor
        written = np.unique(looks[mine & writes], axis=0).tolist()
        found, first = np.unique(looks[mine & ~writes], axis=0, return_index=True)
        if len(written) * len(found) > _MOST:
            continue
        places = [(one, other, at) for one in written for other, at in zip(found.tolist(), first.tolist(), strict=True)]
        for one, other, at in places:
            (to, start, moved), (source, offset, shift) = _in_bytes(recorder, *one), _in_bytes(recorder, *other)
            if meet_later(to, source, offset - start, (moved, shift), times):
                raise dependent(loop, int(lines[mine & ~writes][at]), recorder.name_of(int(tensor)))


def _in_bytes(recorder: Any, dtype: int, offset: int, first: int, pairs: int, shift: int) -> tuple[Pattern, int, int]:
    """An access's pattern, its offset, and what it moves by."""
    width = int(WIDTHS[dtype])
    steps = [(step * width, count) for step, count in recorder.pattern_at(first, pairs)]
    return [*steps, (1, width)], offset * width, shift * width


def meet_later(written: Pattern, read: Pattern, apart: int, shifts: tuple[int, int], times: int) -> bool:
    """Whether what one iteration writes another reads, ``apart`` further, each moving by its shift.

    Patterns are (step, count) pairs. Of those that move differently the first iterations are looked at.
    """
    one, other = ([(step, count) for step, count in pattern if step and count > 1] for pattern in (written, read))
    widths = dict[int, tuple[int, int]]()
    for pattern, forward in ((one, True), (other, False)):
        for step, count in pattern:
            low, high = widths.get(abs(step), (0, 0))
            above = forward == (step > 0)
            widths[abs(step)] = (low, high + count - 1) if above else (low - count + 1, high)
    ranges = [(step, *widths[step]) for step in sorted(widths, reverse=True)]
    reach = sum(step * max(-low, high) for step, low, high in ranges)
    moved, shift = shifts
    if moved == shift:
        return _meet_alike(ranges, reach, apart, abs(shift), times)
    few = range(min(times, _TURNS))
    found = ((apart + shift * turn - moved * before, turn != before) for turn in few for before in few)
    return any(differ and abs(wanted) <= reach and _sums_to(wanted, ranges) for wanted, differ in found)


def _meet_alike(ranges: list[tuple[int, int, int]], reach: int, apart: int, shift: int, times: int) -> bool:
    if not shift:
        return times > 1 and _sums_to(apart, ranges)
    turns = range(max(-(reach + apart) // shift, 1 - times), min((reach - apart) // shift, times - 1) + 1)
    return any(turn and _sums_to(apart + turn * shift, ranges) for turn in turns)


def _sums_to(wanted: int, ranges: list[tuple[int, int, int]]) -> bool:
    """Whether whole multiples of the steps, each within its range, add up to a number."""
    if not ranges:
        return wanted == 0
    (step, low, high), rest = ranges[0], ranges[1:]
    reach = sum(one * max(-least, most) for one, least, most in rest)
    least, most = max(low, -((reach - wanted) // step)), min(high, (wanted + reach) // step)
    return any(_sums_to(wanted - step * times, rest) for times in range(least, most + 1))


def _named(loop: Any, source: str) -> str:
    found = _LOOP.search(linecache.getline(source, loop.line))
    return found[1] if found else loop.name


def _missing(loop: Any, line: int, name: str) -> TraceError:
    index = _named(loop, loop.source)
    return TraceError(
        "NKI-AFFINE",
        f"{name} is written in every iteration of the affine_range over `{index}` (line {loop.line}), but its index"
        f" lacks `{index}`: the iterations would overwrite each other.",
        line,
        f"Index the destination by `{index}`, declare the tile inside the loop, accumulate with += or nl.loop_reduce,"
        " or loop with nl.sequential_range.",
    )


def dependent(loop: Any, line: int, name: str) -> TraceError:
    if loop.kind == "grid":
        return TraceError(
            "NKI-AFFINE",
            f"A program of the launch reads a part of {name} that another program writes: they run in no order.",
            line,
            "Let each program write and read parts of its own, or launch one that loops with nl.sequential_range.",
        )
    index = _named(loop, loop.source)
    return TraceError(
        "NKI-AFFINE",
        f"An iteration of the affine_range over `{index}` (line {loop.line}) reads a block of {name} that another"
        " iteration writes: its iterations have no order.",
        line,
        "Loop with nl.sequential_range.",
    )
