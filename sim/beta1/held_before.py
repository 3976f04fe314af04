"""What stands where ``nl.loop_reduce`` begins: nothing, or what leaves the result as it is.

The documents have its destination for an operand of every turn, the first included, and public kernels begin sums in
memory that nothing has written. A kernel for which either is the other is not understood alike everywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from nki_anvil.sim.beta1.dependencies import ACCUMULATES
from nki_anvil.sim.beta1.growth import Rows
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import SCHEMA

_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_PLACE: Final = [_SITE[name] for name in ("tensor", "dtype", "offset", "first_pair", "pairs")]
_FLAG: Final = len(SCHEMA["instructions"])
_COPY, _ADDITION, _MEMSET = (NAMES.index(name) for name in ("tensor_copy", "tensor_tensor", "memset"))
_HUGE: Final = 3.0e38
"""Nothing that a kernel reduces is further from zero."""
_NEUTRAL: Final[dict[str, Callable[[float], bool]]] = {
    "add": lambda value: value == 0,
    "multiply": lambda value: value == 1,
    "maximum": lambda value: value <= -_HUGE,
    "minimum": lambda value: value >= _HUGE,
}
_WHOLE: Final = ()
"""Where a fill stands beside its own place: for whatever part of the tile is reduced into."""


class _Write(NamedTuple):
    """One result of one instruction: where it lies, which tile that is of, and what kind of instruction it was."""

    place: tuple[int, ...]
    kind: str
    record: int
    line: int


def refuse(instructions: Rows, sites: Rows, attributes: list[dict[str, Any]]) -> None:
    """Raises TraceError for a reduction that begins where another value stands than one that leaves it as it is."""
    written: dict[int, dict[tuple[int, ...], _Write]] = defaultdict(dict)
    held: dict[tuple[int, ...], _Write] = {}
    for write in _writes(instructions, sites):
        place, last = write.place, written[write.place[0]]
        if write.kind == "begin" and (before := last.get(place) or last.get(_WHOLE)):
            if before.kind != "fill":
                raise _held(write.line, "what was written there before")
            held[place] = before
        elif write.kind == "addition" and place in held:
            op, value = attributes[write.record]["op"], attributes[held.pop(place).record]["value"]
            if op not in _NEUTRAL or not _NEUTRAL[op](value):
                raise _held(write.line, f"{value:g}, which {op} does not leave as it is")
        if write.kind == "fill":
            last.clear()
            last[_WHOLE] = write
        last[place] = write
    for place, fill in held.items():  # of one turn alone: with which operation, is not recorded
        if not any(neutral(attributes[fill.record]["value"]) for neutral in _NEUTRAL.values()):
            raise _held(written[place[0]][place].line, f"{attributes[fill.record]['value']:g}")


def _writes(instructions: Rows, sites: Rows) -> Iterator[_Write]:
    """Those to tiles in which a reduction begins, in their order."""
    opcodes, first = instructions[:, _INSTRUCTION["opcode"]], instructions[:, _INSTRUCTION["first_operand"]]
    reduces = instructions[:, _FLAG] == ACCUMULATES
    begins = reduces & (opcodes == _COPY)
    if not begins.any():
        return
    tiles = np.unique(sites[first[begins], 0])
    owners = np.repeat(np.arange(len(opcodes)), WRITES[opcodes])
    slots = np.arange(len(owners)) - np.repeat(np.cumsum(WRITES[opcodes]) - WRITES[opcodes], WRITES[opcodes])
    numbers = first[owners] + slots
    chosen = np.isin(sites[numbers, 0], tiles)
    for owner, place in zip(owners[chosen].tolist(), sites[numbers[chosen]][:, _PLACE].tolist(), strict=True):
        kind = "begin" if begins[owner] else "addition" if reduces[owner] and opcodes[owner] == _ADDITION else "other"
        kind = "fill" if opcodes[owner] == _MEMSET else kind
        row = instructions[owner]
        yield _Write(tuple(place), kind, int(row[_INSTRUCTION["attributes"]]), int(row[_INSTRUCTION["line"]]))


def _held(line: int, what: str) -> TraceError:
    return TraceError(
        "NKI-LOOP-REDUCE",
        f"nl.loop_reduce begins where something stands: {what}.",
        line,
        "Declare its destination by nl.ndarray inside of all loops but those of loop_indices, or by nl.zeros for sums.",
    )
