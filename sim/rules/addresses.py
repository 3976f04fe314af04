"""Tiles at explicit addresses: two that share bytes must take turns, and none may lie outside of its memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.liveness import NEVER, liveness
from nki_anvil.sim.program import MEMORIES, NONE, Program
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation
from nki_anvil.sim.rules.taking_turns import spoiled


def _overlaid(reading: Reading) -> Iterator[Violation]:
    """Reads of a tile after another one over the same bytes was written."""
    program, rows = reading.program, reading.program.tables["tensors"]
    placed = np.flatnonzero((rows["address_byte"] != NONE) & (rows["memory"] >= MEMORIES.index("sbuf")))
    pairs = list(_neighbours(program, placed)) if len(placed) > 1 else []
    if not pairs:
        return
    for victim, guest, at in spoiled(program, pairs):
        yield _sharing(program, victim, guest, at)


def _sharing(program: Program, victim: int, guest: int, at: int) -> Violation:
    rows = program.tables["tensors"]
    where = f"{MEMORIES[int(rows['memory'][guest])].upper()} from byte {int(rows['address_byte'][guest])}"
    read = int(program.tables["instructions"]["line"][at])
    message = f"This tile lies over the one allocated in line {int(rows['line'][victim])}, in {where}, "
    return Violation(int(rows["line"][guest]), message + f"which line {read} reads after this one was written.")


def _neighbours(program: Program, placed: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Pairs of placed tiles of one memory and core that share bytes and whose live ranges meet."""
    rows, live = program.tables["tensors"], liveness(program)
    widths = np.array([dtypes.size_of(name) for name in dtypes.NAMES], np.int64)[rows["dtype"]] * rows["elements"]
    byte, partition = rows["address_byte"], np.maximum(rows["address_partition"], 0)
    used = placed[live.first[placed] != NEVER]
    for tensor in used.tolist():
        others = used[used > tensor]
        both = (rows["memory"][others] == rows["memory"][tensor]) & (rows["core"][others] == rows["core"][tensor])
        both &= (byte[others] < byte[tensor] + widths[tensor]) & (byte[tensor] < byte[others] + widths[others])
        both &= partition[others] < partition[tensor] + rows["partitions"][tensor]
        both &= partition[tensor] < partition[others] + rows["partitions"][others]
        both &= (live.first[others] <= live.last[tensor]) & (live.first[tensor] <= live.last[others])
        yield from ((tensor, other) for other in others[both].tolist())


def _outside(reading: Reading) -> Iterator[Violation]:
    rows, most = reading.program.tables["tensors"], reading.chip.partitions
    ends = rows["address_partition"] + rows["partitions"]
    placed = (rows["address_partition"] != NONE) & (rows["memory"] >= MEMORIES.index("sbuf"))
    for tensor in np.flatnonzero(placed & (ends > most) & (rows["partitions"] <= most)).tolist():
        start, count = int(rows["address_partition"][tensor]), int(rows["partitions"][tensor])
        yield Violation(int(rows["line"][tensor]), f"{count} partitions from {start} end beyond the chip's {most}.")


def _unaligned(reading: Reading) -> Iterator[Violation]:
    rows, least = reading.program.tables["tensors"], reading.chip.psum_min_align
    placed = (rows["address_byte"] != NONE) & (rows["memory"] == MEMORIES.index("psum"))
    for tensor in np.flatnonzero(placed & (rows["address_byte"] % least != 0)).tolist():
        yield Violation(int(rows["line"][tensor]), f"A PSUM tile begins at byte {int(rows['address_byte'][tensor])}.")


RULES = (
    Rule(
        code="TRN2-ADDRESS",
        text="Tiles whose explicit addresses overlap take turns: none is read after another was written over it.",
        severity="error",
        remedy="Choose another address for one of them, or leave address out and let the compiler place both.",
        source="nki.language.ndarray, address",
        breaches=_overlaid,
    ),
    Rule(
        code="TRN2-ADDRESS-PART",
        text="A tile at an explicit address ends within the 128 partitions.",
        severity="error",
        remedy="Let the first partition and the number of partitions add up to at most nl.tile_size.pmax.",
        source="nki.language.ndarray, address; nki.language.tile_size.pmax",
        breaches=_outside,
    ),
    Rule(
        code="TRN2-ADDRESS-ALIGN",
        text="A PSUM tile at an explicit address begins where its banks have a word, at a multiple of four bytes.",
        severity="error",
        remedy="Round the address up to nl.tile_size.psum_min_align, or begin at a bank, a multiple of 2048.",
        source="nki.language.tile_size, psum_min_align",
        breaches=_unaligned,
    ),
)
