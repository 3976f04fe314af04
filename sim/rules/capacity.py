"""Room on chip by live range: what is in use at once, and what cannot be placed at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.liveness import NEVER, liveness
from nki_anvil.sim.program import MEMORIES, NONE
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import BETA1, Rule, Violation

_HOLDERS = 4
"""How many lines a capacity message names."""


def partition_bytes(reading: Reading) -> NDArray[np.int64]:
    """Bytes of each tensor per partition."""
    rows = reading.program.tables["tensors"]
    widths = np.array([dtypes.size_of(name) for name in dtypes.NAMES], np.int64)
    return rows["elements"] * widths[rows["dtype"]]


def _in(reading: Reading, memory: str) -> NDArray[np.bool_]:
    return reading.program.tables["tensors"]["memory"] == MEMORIES.index(memory)


def capacity(reading: Reading, memory: str) -> int:
    """Bytes that a kernel may use per partition."""
    chip = reading.chip
    return chip.sbuf_usable_partition_bytes if memory == "sbuf" else chip.psum_partition_bytes


def _too_large(memory: str, reading: Reading) -> Iterator[Violation]:
    rows, sizes, room = reading.program.tables["tensors"], partition_bytes(reading), capacity(reading, memory)
    for tensor in np.flatnonzero(_in(reading, memory)).tolist():
        start = max(int(rows["address_byte"][tensor]), 0)
        if start + sizes[tensor] > room:
            where = f" at byte {start}" if int(rows["address_byte"][tensor]) != NONE else ""
            message = f"A tile of {int(sizes[tensor])} bytes per partition{where}; {memory.upper()} has {room}."
            yield Violation(int(rows["line"][tensor]), message)


def peak(reading: Reading, memory: str, sizes: NDArray[np.int64]) -> tuple[int, NDArray[np.intp]]:
    """The most bytes per partition in use at once, and the tensors in use then."""
    live, chosen = liveness(reading.program), _in(reading, memory)
    best, holders = 0, np.zeros(0, np.intp)
    for core in range(reading.program.cores):
        mine = np.flatnonzero(chosen & (live.first != NEVER) & (reading.program.tables["tensors"]["core"] == core))
        if not len(mine):
            continue
        change = np.zeros(len(reading.program) + 2, np.int64)
        np.add.at(change, live.first[mine], sizes[mine])
        np.add.at(change, live.last[mine] + 1, -sizes[mine])
        level = np.cumsum(change)
        at = int(level.argmax())
        if level[at] > best:
            best, holders = int(level[at]), mine[(live.first[mine] <= at) & (live.last[mine] >= at)]
    return best, holders


def _too_much(memory: str, reading: Reading) -> Iterator[Violation]:
    sizes = partition_bytes(reading)
    room = capacity(reading, memory)
    used, holders = peak(reading, memory, np.minimum(sizes, room))
    if used > room:
        yield _holders(
            reading, holders, sizes, f"{used} bytes per partition of {memory.upper()} are in use at once; {room} fit."
        )


def _too_many_banks(reading: Reading) -> Iterator[Violation]:
    bank, banks = reading.chip.psum_bank_bytes, reading.chip.psum_banks
    sizes = -(-partition_bytes(reading) // bank)
    used, holders = peak(reading, "psum", np.minimum(sizes, banks))
    if used > banks:
        yield _holders(
            reading, holders, sizes, f"PSUM tensors in use at once begin in {used} banks; there are {banks}."
        )


def _holders(reading: Reading, holders: NDArray[Any], sizes: NDArray[np.int64], message: str) -> Violation:
    """The breach at the line that holds most, naming the others."""
    held: dict[int, int] = {}
    for tensor in holders.tolist():
        line = int(reading.program.tables["tensors"]["line"][tensor])
        held[line] = held.get(line, 0) + int(sizes[tensor])
    order = sorted(held, key=lambda line: (-held[line], line))
    lines = ", ".join(f"line {line} ({held[line]})" for line in order[:_HOLDERS])
    return Violation(order[0], f"{message} Most is held by {lines}.")


RULES = (
    Rule(
        code="TRN2-SBUF-TILE",
        text="One SBUF tile, with its explicit address if it has one, fits into a partition's usable bytes.",
        severity="error",
        remedy="Split the free dimension into several tiles.",
        source="nki.language.tile_size, sbuf_fmax_bytes",
        breaches=partial(_too_large, "sbuf"),
    ),
    Rule(
        code="TRN2-SBUF-CAP",
        text="SBUF tiles in use at the same time fit into a partition's usable bytes; else the compiler spills.",
        severity="warning",
        remedy="Allocate tiles in the loop that uses them, and process smaller blocks.",
        source="nki.language.tile_size, sbuf_fmax_bytes; NKI Performance Guide, spilling",
        breaches=partial(_too_much, "sbuf"),
    ),
    Rule(
        code="TRN2-PSUM-TILE",
        text="One PSUM tensor, with its explicit address if it has one, fits into a partition's 16 KiB.",
        severity="error",
        remedy="Use several PSUM tensors of one 2 KiB bank each.",
        source="Trainium/Inferentia2 Architecture Guide for NKI, PSUM",
        breaches=partial(_too_large, "psum"),
    ),
    Rule(
        code="TRN2-PSUM-CAP",
        text="PSUM tensors in use at the same time fit into a partition's 16 KiB; nothing spills from PSUM.",
        severity="error",
        remedy="Copy results to SBUF earlier, so that their banks are free again.",
        source="Trainium/Inferentia2 Architecture Guide for NKI, PSUM",
        breaches=partial(_too_much, "psum"),
        before={BETA1: "warning"},  # whose compiler orders instructions as it needs
    ),
    Rule(
        code="TRN2-PSUM-BANKS",
        text="Each PSUM tensor begins in a bank of its own, so at most eight are in use at once; nothing spills there.",
        severity="error",
        remedy="Put several small results into one PSUM tensor of a bank, or copy them to SBUF earlier.",
        source="nki.language.tile_size, psum_num_banks",
        breaches=_too_many_banks,
        before={BETA1: "warning"},  # whose compiler orders instructions as it needs
    ),
)
