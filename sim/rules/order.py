"""Instructions whose result depends on the order in which their own elements are read and written.

An engine works through its elements in order, reading ahead of what it writes; a DMA's elements are spread over sixteen
queues, and only what one queue carries is in order.
Accesses that move are judged when they have (``execution.moving``); those of very many elements are not followed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.kinds import WIDTHS, Pattern, Patterns, dynamic, patterns
from nki_anvil.sim.marks import reached
from nki_anvil.sim.operands import Operands, by_slot, operands
from nki_anvil.sim.program import MEMORIES, Program
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation

_DMA = ("dma_copy", "dma_transpose", "dma_compute")
_TURNED = {
    "dma_transpose": ("src",),
    "nc_transpose": ("data",),
    "nc_n_gather": ("data", "indices"),
    "local_gather": ("src_buffer", "index"),
    "nonzero_with_count": ("src",),
    "sequence_bounds": ("segment_ids",),
    "sendrecv": ("src",),
}
"""What an instruction reads at other places, or in another turn, than it writes, also where both accesses are the same:
an exchange's dst is written by the other core. A shuffle may work in place (nki.isa.nc_stream_shuffle)."""
_MOST = 1 << 24
"""Elements of an access that is looked at one by one: as many as fit on a chip, of two bytes each."""
_SPAN = 1 << 31
"""Bytes of a tensor that are marked one by one, of the 96 GiB of HBM."""

Places = NDArray[np.int64]
Merged: TypeAlias = tuple[tuple[int, int], ...]


class Pair(NamedTuple):
    """How one instruction writes and reads one tensor; equal ones are judged once."""

    target: Merged
    source: Merged
    apart: int
    """Bytes from the first element that is written to the first that is read."""
    widths: tuple[int, int]
    lanes: int
    """Partitions, which go side by side; 1 in HBM."""
    unordered: bool
    """A DMA's."""
    turned: bool = False
    """Whether what it reads at one place it writes at another, or needs for all that it writes."""


def _overlaps(reading: Reading) -> Iterator[Violation]:
    for line, name, pair in _pairs(reading.program):
        if disturbs(pair):
            yield Violation(line, f"{name} writes elements of a tensor that it has yet to read.")


def _pairs(program: Program) -> Iterator[tuple[int, str, Pair]]:
    """Line, name and accesses of every instruction that reads what it writes, but not element by element."""
    every, seen, rows = operands(program), patterns(program), program.tables["accesses"]
    still = ~dynamic(program)
    chip = program.tables["tensors"]["memory"][rows["tensor"]] >= MEMORIES.index("sbuf")
    repeats = np.array([_repeats(merge(pattern)) for pattern in seen.different], np.bool_)
    table = program.tables["instructions"]
    for write, read in _together(every, ~every.writes):
        one, other = every.access[write], every.access[read]
        turned = _TURNING[table["opcode"][every.instruction[read]], every.slot[read]]
        alike = (seen.of[one] == seen.of[other]) & (rows["offset"][one] == rows["offset"][other])
        alike &= (rows["dtype"][one] == rows["dtype"][other]) & ~repeats[seen.of[one]]
        chosen = (rows["tensor"][one] == rows["tensor"][other]) & still[one] & still[other] & ~(alike & ~turned)
        for place in np.flatnonzero(chosen).tolist():
            target, source, instruction = int(one[place]), int(other[place]), int(every.instruction[write[place]])
            name = NAMES[int(table["opcode"][instruction])]
            written, read = (seen.different[int(seen.of[access])] for access in (target, source))
            whole = bool(turned[place]) or (bool(chip[target]) and is_spread(_free(written), _free(read)))
            if whole or not chip[target] or name in _DMA or min(_free(written), _free(read)) > 1:
                lanes = written[0][1] if chip[target] else 1
                pair = _pair(program, seen, target, source)._replace(lanes=lanes, unordered=name in _DMA, turned=whole)
                yield int(table["line"][instruction]), name, pair


def _pair(program: Program, seen: Patterns, target: int, source: int) -> Pair:
    """Two accesses of one tensor, in one lane and without an order."""
    rows = program.tables["accesses"]
    widths = int(WIDTHS[rows["dtype"][target]]), int(WIDTHS[rows["dtype"][source]])
    apart = int(rows["offset"][source]) * widths[1] - int(rows["offset"][target]) * widths[0]
    first, second = (merge(seen.different[int(seen.of[access])]) for access in (target, source))
    return Pair(first, second, apart, widths, lanes=1, unordered=True)


def turns(name: str, slot: str) -> bool:
    """Whether an instruction writes what it reads there at other places."""
    return slot in _TURNED.get(name, ())


def goes_in_turn(name: str) -> bool:
    """Whether an instruction writes each element where it has read it, as far as its accesses do."""
    return name not in _TURNED


def is_spread(written: int, read: int) -> bool:
    """Whether one number of each partition is read for all that is written there: a scale, a bias, a bound."""
    return read == 1 < written


_TURNING = by_slot(turns)


def _together(every: Operands, others: NDArray[np.bool_]) -> Iterator[tuple[Places, Places]]:
    """Rows of operands, what is written with each other thing of the same instruction that is among ``others``."""
    for ahead in range(1, int(every.slot.max(initial=0)) + 1):
        rows = np.arange(len(every.instruction) - ahead)
        same = every.instruction[rows] == every.instruction[rows + ahead]
        chosen = rows[same & every.writes[rows] & others[rows + ahead]]
        yield chosen, chosen + ahead


def _free(pattern: Pattern) -> int:
    """Elements per partition."""
    return math.prod(count for _, count in pattern[1:])


def merge(pattern: Pattern) -> Merged:
    """The same elements in the same order, in as few dimensions as possible."""
    merged: list[tuple[int, int]] = []
    for step, count in pattern:
        if merged and merged[-1][0] == step * count:
            merged[-1] = (step, merged[-1][1] * count)
        elif count > 1:
            merged.append((step, count))
    return tuple(merged)


@lru_cache(maxsize=4096)
def disturbs(pair: Pair) -> bool:
    """Whether an element is written before its turn to be read has come."""
    if (pair.target, pair.apart) == (pair.source, 0) and pair.widths[0] == pair.widths[1] and not pair.turned:
        return _repeats(pair.target)
    if _distant(pair):
        return False
    if pair.unordered or pair.turned:
        return _meet(pair)
    if max(_size(pair.target), _size(pair.source)) > _MOST:
        return False
    written, read = (_turns(m, w, pair) for m, w in zip((pair.target, pair.source), pair.widths, strict=True))
    # Of places that come several times, the first turn to be written and the last to be read count.
    read = read[0][::-1] + pair.apart, read[1][::-1]
    _, first, second = np.intersect1d(written[0], read[0], return_indices=True)
    return bool((written[1][first] < read[1][second]).any())


def _meet(pair: Pair) -> bool:
    """Whether the two have a byte in common; only where both reach is looked at."""
    (first, end), (start, stop) = _reach(pair.target, pair.widths[0]), _reach(pair.source, pair.widths[1])
    low, high = min(first, start + pair.apart), max(end, stop + pair.apart)
    if high - low > _SPAN:
        return True
    written = np.zeros(high - low, np.bool_)
    reached(written, -low, pair.target, pair.widths[0])[...] = True
    return bool(reached(written, pair.apart - low, pair.source, pair.widths[1]).any())


def _distant(pair: Pair) -> bool:
    """Whether the two lie in different parts of the tensor altogether."""
    low, high = _reach(pair.target, pair.widths[0])
    start, end = (pair.apart + bound for bound in _reach(pair.source, pair.widths[1]))
    return end <= low or high <= start


def _reach(merged: Merged, width: int) -> tuple[int, int]:
    """First byte, and the one after the last, from an access's beginning."""
    spans = [step * (count - 1) * width for step, count in merged]
    return sum(min(span, 0) for span in spans), sum(max(span, 0) for span in spans) + width


def _size(merged: Merged) -> int:
    return math.prod(count for _, count in merged)


def _turns(merged: Merged, width: int, pair: Pair) -> tuple[Places, NDArray[np.float64]]:
    """Each place of an access (in units of the narrower format), and when its turn is first or last, from 0 to 1."""
    unit = min(pair.widths)
    places = np.zeros(1, np.int64)
    for step, count in merged:
        places = (places[:, None] + np.arange(count) * step * width).ravel()
    per_lane = max(len(places) // pair.lanes, 1)
    turn = np.arange(len(places)) % per_lane / per_lane
    each = (places[:, None] + np.arange(0, width, unit)).ravel()
    return each, np.repeat(turn, width // unit)


def _repeated(reading: Reading) -> Iterator[Violation]:
    """Of a scatter each row by itself: to which places rows go, its indices say."""
    for use in reading.named(*_DMA, "sendrecv", "nc_matmul"):
        dst = use.tiles["dst"]
        pattern = list(zip(dst.steps, dst.shape, strict=True))
        merged = merge(pattern[1:] if dst.indirect == "vector" else pattern)
        if _repeats(merged):
            message = f"{use.name} writes {_size(merged)} elements to {_reached(merged)} places."
            yield Violation(use.line, message, use.count)


def _both(reading: Reading) -> Iterator[Violation]:
    """Two outputs of one instruction at one place; of those that move, in one tensor."""
    program, every = reading.program, operands(reading.program)
    seen, rows, moves = patterns(program), program.tables["accesses"], dynamic(program)
    table = program.tables["instructions"]
    for first, second in _together(every, every.writes):
        one, other = every.access[first], every.access[second]
        for place in np.flatnonzero(rows["tensor"][one] == rows["tensor"][other]).tolist():
            accesses = int(one[place]), int(other[place])
            pair = _pair(program, seen, *accesses)
            if moves[[*accesses]].any() or (not _distant(pair) and _meet(pair)):
                instruction = int(every.instruction[first[place]])
                name = NAMES[int(table["opcode"][instruction])]
                yield Violation(int(table["line"][instruction]), f"{name} writes two results to one place.")


def _repeats(merged: Merged) -> bool:
    """Whether an access comes to a place more than once."""
    return _size(merged) > _reached(merged)


@lru_cache(maxsize=4096)
def _reached(merged: Merged) -> int:
    """Different places of an access."""
    moving, spans = [(step, count) for step, count in merged if step], 0
    for step, count in sorted((abs(step), count) for step, count in moving):
        if step <= spans:
            break
        spans += step * (count - 1)
    else:
        return math.prod(count for _, count in moving)
    low, high = _reach(merged, 1)
    if high - low > _SPAN:
        return math.prod(count for _, count in moving)
    marks = np.zeros(high - low, np.bool_)
    reached(marks, -low, merged, 1)[...] = True
    return int(marks.sum())


RULES = (
    Rule("TRN2-ORDER-BOTH", "The results of one instruction lie apart: which of two stays at a place is told nowhere.",
         "error", "Give each result a tile of its own.", "nki.isa.tensor_scalar_reduce, nki.isa.nc_match_replace8: dst"
         " beside reduce_res or dst_idx", _both),
    Rule("TRN2-ORDER-READ", "No instruction writes an element that it has yet to read.", "error",
         "Write to another tile, and copy back where it must be the same.",
         "Introduction to Direct Memory Access (DMA) with NKI, DMA queues; Trainium2 Architecture Guide for NKI"
         " (engines are pipelined)", _overlaps),
    Rule("TRN2-ORDER-WRITE", "A DMA, or a matmul, writes every element once: a transfer's arrive in no order,"
         " and what two sums leave at one place is told nowhere.", "error",
         "Let dst have a place for every element, or copy only the one that counts.",
         "Introduction to Direct Memory Access (DMA) with NKI, DMA queues", _repeated),
)  # fmt: skip
