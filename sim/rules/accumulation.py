"""Where sums in PSUM begin: the first matmul into a place resets it, and nothing else may stand there before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.coverage import covering
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.kinds import WIDTHS, dynamic, patterns
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import MEMORIES, Program
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import BETA1, Rule, Violation

_NOTHING, _MATMUL, _OTHER = 0, 1, 2
"""What wrote a place last."""
_UNTOUCHED: Final = np.array(_NOTHING, np.uint8)
_NC_MATMUL: Final = NAMES.index("nc_matmul")
_MEMSET: Final = NAMES.index("memset")

Marks: TypeAlias = NDArray[np.uint8]


class _Places:
    """What wrote each element of each PSUM tensor last; one mark for a tensor that is alike throughout."""

    def __init__(self, program: Program) -> None:
        tensors, rows = program.tables["tensors"], program.tables["accesses"]
        owner, widths = rows["tensor"], WIDTHS[rows["dtype"]]
        units = WIDTHS[tensors["dtype"]]
        np.minimum.at(units, owner, widths)
        self._owner: list[int] = owner.tolist()
        self._units: list[int] = (widths // units[owner]).tolist()
        """Marks for each element of an access; a tensor has one for as few bytes as any access counts in."""
        self._offset: list[int] = rows["offset"].tolist()
        self._patterns = patterns(program)
        self._whole: list[bool] = covering(program, self._patterns).tolist()
        self._moves: list[bool] = dynamic(program).tolist()
        held = tensors["partitions"] * tensors["elements"] * WIDTHS[tensors["dtype"]]
        self._sizes: list[int] = (held // units).tolist()
        self._maps: dict[int, Marks] = {}

    def begun(self, access: int) -> tuple[bool, int]:
        """Whether a matmul wrote last under all of an access, and else what did under any of it.

        Of one that moves at run time: whether it may have, anywhere in the tensor.
        """
        marks = self._maps.get(self._owner[access], _UNTOUCHED)
        if self._moves[access]:
            return bool((marks == _MATMUL).any()), int(marks.max())
        marks = self._view(marks, access) if marks.ndim else marks
        begun = bool((marks == _MATMUL).all())
        return begun, _OTHER if (marks == _OTHER).any() else _MATMUL if begun else _NOTHING

    def write(self, access: int, mark: int, *, somewhere: Collection[int] = (_MATMUL,)) -> None:
        """Mark what an access reaches: all of a tensor where one of ``somewhere`` moves at run time."""
        tensor = self._owner[access]
        if self._moves[access] and mark not in somewhere:
            return
        if self._whole[access] or self._moves[access]:
            self._maps[tensor] = np.array(mark, np.uint8)
            return
        marks = self._maps.get(tensor, _UNTOUCHED)
        if not marks.ndim:
            marks = self._maps[tensor] = np.full(self._sizes[tensor], marks, np.uint8)
        self._view(marks, access)[...] = mark

    def _view(self, marks: Marks, access: int) -> Marks:
        units = self._units[access]
        steps, shape = zip(*self._patterns.different[int(self._patterns.of[access])], (1, units), strict=True)
        steps = (*(step * units for step in steps[:-1]), 1)
        return np.ndarray(shape, np.uint8, marks, self._offset[access] * units, steps)


def _sums(reading: Reading) -> list[tuple[int, int]]:
    """(line, what stood there) of every matmul that certainly adds to what a matmul has not begun.

    In a loop these are its first turn's; one that leaves accumulate open adds to matmuls alone (``execution``).
    """
    program = reading.program
    rows, places = program.tables["instructions"], _Places(program)
    found: list[tuple[int, int]] = []
    for index, access in _written(program):
        matmul = int(rows["opcode"][index]) == _NC_MATMUL
        adds = matmul and program.attributes[int(rows["attributes"][index])]["accumulate"]
        begun, stood = places.begun(access) if adds else (True, _MATMUL)
        if not begun:
            found.append((int(rows["line"][index]), stood))
        places.write(access, _MATMUL if matmul else _OTHER)
    return found


def _written(program: Program) -> Iterator[tuple[int, int]]:
    """(instruction, access) of all that is written to PSUM, in order."""
    every, psum = operands(program), program.tables["tensors"]["memory"] == MEMORIES.index("psum")
    chosen = every.writes & psum[program.tables["accesses"]["tensor"][every.access]]
    yield from zip(every.instruction[chosen].tolist(), every.access[chosen].tolist(), strict=True)


def _lost(reading: Reading) -> Iterator[Violation]:
    """Of what others have written last, none knows what an open matmul makes, which in Beta 1 stands for ``+=``."""
    program = reading.program
    what = "+= adds a product" if program.version == BETA1 else "nc_matmul leaves open whether it adds"
    rows, places = program.tables["instructions"], _Places(program)
    for index, access in _written(program):
        record, opcode = program.attributes[int(rows["attributes"][index])], int(rows["opcode"][index])
        if opcode == _NC_MATMUL and _is_open(record) and places.begun(access)[1] == _OTHER:
            yield Violation(int(rows["line"][index]), f"{what} to PSUM that another instruction has written.")
        zeros = opcode == _MEMSET and not record["value"]
        mark = _NOTHING if zeros else _MATMUL if opcode == _NC_MATMUL else _OTHER
        places.write(access, mark, somewhere=(_OTHER,))


def _is_open(record: Mapping[str, Any]) -> bool:
    """Whether a matmul leaves open that it adds, and where that was inferred, overwrites."""
    return record["accumulate"] is None or bool(record.get("inferred") and not record["accumulate"])


def _unset(reading: Reading) -> Iterator[Violation]:
    for line, found in reading.cached("sums", _sums):
        if found == _NOTHING:
            yield Violation(line, "nc_matmul adds to PSUM that nothing has written.")


def _foreign(reading: Reading) -> Iterator[Violation]:
    for line, found in reading.cached("sums", _sums):
        if found != _NOTHING:
            yield Violation(line, "nc_matmul adds to PSUM that an instruction other than a matmul has set.")


def _open(reading: Reading) -> Iterator[Violation]:
    """Matmuls in a loop on the device, traced once, that leave accumulate open over a tensor from outside of it."""
    program = reading.program
    rows, homes = program.tables["instructions"], program.tables["tensors"]["region"]
    is_open = np.array([record.get("accumulate", False) is None for record in program.attributes], np.bool_)
    chosen = np.flatnonzero((rows["opcode"] == _NC_MATMUL) & is_open[rows["attributes"]])
    targets = program.tables["operands"]["access"][rows["first_operand"][chosen]]
    outside = homes[program.tables["accesses"]["tensor"][targets]] != rows["region"][chosen]
    lines: list[int] = rows["line"][chosen[outside]].tolist()
    for line, times in Counter(lines).items():
        yield Violation(line, "nc_matmul in a loop leaves open whether its first turn overwrites or all do.", times)


RULES = (
    Rule(
        code="TRN2-PSUM-FILL",
        text="What += or a matmul without accumulate= adds to in PSUM is zero, or a sum of products that nothing has"
        " rewritten.",
        severity="error",
        remedy="Begin with nothing, or zeros, or overwrite with accumulate=False; rescale the sum, or add other values"
        " to it, once it is in SBUF.",
        source="nki.isa.nc_matmul, accumulation mode: inferred from whether the place was written; undefined for"
        " values that memset or a copy has put there",
        breaches=_lost,
    ),
    Rule(
        code="TRN2-PSUM-LOOP",
        text="In a loop on the device a matmul into PSUM from outside says whether it adds.",
        severity="error",
        remedy="Allocate the PSUM tile in the loop's body; or begin the sum before the loop with accumulate=False, and"
        " pass accumulate=True in it.",
        source="nki.isa.nc_matmul, accumulation mode: the compiler infers one flag for an instruction",
        breaches=_open,
        before={BETA1: "warning"},
    ),
    Rule(
        code="TRN2-PSUM-UNSET",
        text="accumulate=True needs a matmul with accumulate=False before it at the same place.",
        severity="error",
        remedy="Pass accumulate=(k > 0), or leave accumulate out.",
        source="nki.isa.nc_matmul, accumulation mode",
        breaches=_unset,
    ),
    Rule(
        code="TRN2-PSUM-MEMSET",
        text="A matmul does not accumulate onto values that memset or a copy has put into PSUM.",
        severity="error",
        remedy="Leave the memset out: the first matmul overwrites. Add other values after copying the result to SBUF.",
        source="nki.isa.nc_matmul, accumulation mode: undefined on NeuronCore-v2 and v3",
        breaches=_foreign,
    ),
)
