"""Whether the iterations of ``nl.affine_range`` stand for themselves: each writes places of its own.

Accumulation (``+=``, ``nl.loop_reduce``) is the one exception that Beta 1 allows.
"""

from __future__ import annotations

import linecache
import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.program import NONE, SCHEMA

Rows = NDArray[np.int64]

ACCUMULATES: Final = 2
"""The flag of an instruction that adds to what is there."""

_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_FLAG: Final = len(SCHEMA["instructions"])
_MOVES: Final = len(SCHEMA["accesses"]) + 1
_UPDATING: Final = frozenset(NAMES.index(name) for name in NAMES if TABLE[name].updates and name != "nc_matmul")
_MATMUL: Final = NAMES.index("nc_matmul")
_WRITES: Final = np.array([len(TABLE[name].writes) for name in NAMES], np.int64)
_LOOP: Final = re.compile(r"\bfor\s+(\w+)\s+in\b")


def check(loop: Any, times: int, sites: Rows, instructions: Rows, first_tensor: int, recorder: Any) -> None:
    """Refuse a body that writes, in every iteration, the same place outside of it; or reads what another one writes."""
    if loop.kind != "affine" or loop.trips < 2 or not len(instructions):
        return
    depths = (sites.shape[1] - _MOVES) // 2
    turns, shifts = _MOVES + loop.depth - 1, _MOVES + depths + loop.depth - 1
    base = recorder.sites_before()
    for row in instructions[_plain_writes(instructions, recorder.attribute_records())].tolist():
        opcode, first = row[_INSTRUCTION["opcode"]], row[_INSTRUCTION["first_operand"]] - base
        for site in sites[first : first + int(_WRITES[opcode])].tolist():
            outside = NONE != site[0] < first_tensor and site[_SITE["vector_access"]] == NONE
            if outside and not site[turns] and not site[shifts]:
                key = (row[_INSTRUCTION["line"]], site[0], site[_SITE["offset"]])
                if times > 1 or key in loop.undeclared:
                    raise _missing(loop, row[_INSTRUCTION["line"]], recorder.name_of(site[0]))
                loop.undeclared[key] = True
    if times > 1:
        _carried(loop, times, sites, instructions, first_tensor, recorder, turns)


def _plain_writes(instructions: Rows, attributes: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Instructions that overwrite: no accumulation of a matmul, no ``+=``, no update of a destination."""
    plain = instructions[:, _FLAG] != ACCUMULATES
    opcode = instructions[:, _INSTRUCTION["opcode"]]
    plain &= ~np.isin(opcode, list(_UPDATING))
    adding = np.array([record.get("accumulate", False) is not False for record in attributes], np.bool_)
    return plain & ~((opcode == _MATMUL) & adding[instructions[:, _INSTRUCTION["attributes"]]])


def _carried(
    loop: Any, times: int, sites: Rows, instructions: Rows, first_tensor: int, recorder: Any, turns: int
) -> None:
    """Refuse a read of a block that another iteration writes."""
    counts = instructions[:, _INSTRUCTION["operands"]]
    owner = np.repeat(np.arange(len(instructions)), counts)
    slot = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    number = instructions[owner, _INSTRUCTION["first_operand"]] - recorder.sites_before() + slot
    used = sites[number]
    outside = (used[:, 0] != NONE) & (used[:, 0] < first_tensor) & (used[:, turns] != 0)
    writes = outside & (slot < _WRITES[instructions[owner, _INSTRUCTION["opcode"]]])
    reads = outside & ~writes
    written = np.unique(used[writes][:, [0, turns]], axis=0)
    for tensor, move in written.tolist():
        for place in np.flatnonzero(reads & (used[:, turns] == move)).tolist():
            apart = int(used[place, 0]) - tensor
            if apart and apart % move == 0 and abs(apart // move) < times and recorder.one_tensor(tensor, apart):
                raise _dependent(loop, int(instructions[owner[place], _INSTRUCTION["line"]]), recorder.name_of(tensor))


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


def _dependent(loop: Any, line: int, name: str) -> TraceError:
    index = _named(loop, loop.source)
    return TraceError(
        "NKI-AFFINE",
        f"An iteration of the affine_range over `{index}` (line {loop.line}) reads a block of {name} that another"
        " iteration writes: its iterations have no order.",
        line,
        "Loop with nl.sequential_range.",
    )
