"""One instruction being made ready: its operands, its attributes, and the list of steps that will carry it out.

An instruction's definition asks for float32 inputs and outputs; whether those are storage itself or work arrays, filled
before and stored after, is decided here, so that a definition says only what is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.attributes import RESETS
from nki_anvil.sim.execution import moving
from nki_anvil.sim.execution.accumulation import Written
from nki_anvil.sim.execution.bench import LANES, Bench, Step
from nki_anvil.sim.execution.choices import CHOOSING, Here
from nki_anvil.sim.execution.conversion import from_working, shorten
from nki_anvil.sim.execution.errors import ExecutionError, NotSimulated
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.operand import Operand
from nki_anvil.sim.execution.untold import float_operation
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.program import NONE

Array = NDArray[Any]
L = TypeVar("L", np.float32, np.bool_)


class Site:
    """Where one instruction stands in a program, and what its definition may do there."""

    def __init__(self, memory: Memory, bench: Bench, index: int, written: Written) -> None:
        row = memory.program.tables["instructions"]
        self.memory, self.bench, self.index, self.written = memory, bench, index, written
        self.formats = memory.formats
        self.instruction = TABLE[NAMES[int(row["opcode"][index])]]
        self.attributes = memory.program.attributes[int(row["attributes"][index])]
        self.engine = ENGINES[int(row["engine"][index])]
        self.core, self.line = int(row["core"][index]), int(row["line"][index])
        self.steps: list[Step] = []
        self._pending: list[Step] = []
        self._copies: dict[str, NDArray[np.float32]] = {}
        self._slots = 0
        skip = self.attributes.get("oob_mode") == "skip"
        self.operands = {
            slot: None if access == NONE else Operand(memory, bench, access, self.line, skip, index)
            for slot, access in zip(self.instruction.slots, memory.program.operands(index), strict=True)
        }
        self.steps += moving.checks(self)  # pyright: ignore[reportArgumentType] (this file goes by two names there)

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    def has(self, slot: str) -> bool:
        return self.operands[slot] is not None

    def operand(self, slot: str) -> Operand:
        found = self.operands[slot]
        if found is None:
            raise self.fault("SIM-OPERAND", f"{self.instruction.name} needs {slot}")
        return found

    def fault(self, code: str, message: str) -> ExecutionError:
        return ExecutionError(code, message, self.line)

    def missing(self, what: str) -> NotSimulated:
        return NotSimulated(f"{self.instruction.name} {what} is not simulated", self.line)

    def do(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Add a step."""
        self.steps.append(partial(function, *arguments, **options))

    def operator(self, stage: int, op: str, reverse: bool = False) -> Callable[[Any, Any, Array], Any]:
        """A math operator on floats, for a step that uses it many times."""
        function, choices = float_operation(self.bench, op, reverse), self.bench.choices
        if choices is None or op not in CHOOSING:
            return function
        return partial(choices.choose, Here(self.index), stage, op, function)

    def operate(self, stage: int, op: str, a: Any, b: Any, out: Array, reverse: bool = False) -> None:
        """Add a math operator on floats as a step; ``stage`` counts those of an instruction."""
        self.choose(stage, op, float_operation(self.bench, op, reverse), a, b, out)

    def choose(self, stage: int, op: str, function: Callable[..., Any], a: Any, b: Any, out: Array) -> None:
        """Add ``function(a, b, out)`` as a step, of whose choices it is known how they were made."""
        choices = self.bench.choices
        if choices is None or op not in CHOOSING:
            self.do(function, a, b, out)
        else:
            self.do(choices.choose, Here(self.index), stage, op, function, a, b, out)

    def note_standing(self, values: Array, result: Array) -> None:
        """Of a reduction over the last axis: which places hold one number whatever the inputs are."""
        if (choices := self.bench.choices) is not None:
            self.do(choices.note_standing, Here(self.index), values, result)

    def finish(self) -> list[Step]:
        """All steps, the stores of outputs last."""
        return [*self.steps, *self._pending]

    def shape(self, *slots: str) -> tuple[int, ...]:
        """The shape to compute in: that of the operands where they agree, else (partitions, elements)."""
        shapes = {self.operand(slot).shape for slot in slots}
        if len(shapes) == 1:
            return shapes.pop()
        flat = {_flat(shape) for shape in shapes}
        if len(flat) > 1:
            text = " and ".join(str(self.operand(slot).shape) for slot in slots)
            raise self.fault("SIM-SHAPE", f"{self.instruction.name} on operands of shapes {text}")
        return flat.pop()

    def number(self, value: float) -> Any:
        """A number as engines take it."""
        return self.formats.number(value)

    def work(self, shape: tuple[int, ...], dtype: Any = None) -> Array:
        """A work array of its own within this instruction, of what engines compute in unless a dtype is given."""
        self._slots += 1
        return self.bench.scratch(self._slots, shape, dtype or self.formats.working)

    def raw(self, slot: str, shape: tuple[int, ...] | None = None) -> Array:
        """An input in its own format."""
        operand = self.operand(slot)
        return self._source(operand, shape or operand.shape, self.formats.stored(operand.dtype))

    def read(self, slot: str, shape: tuple[int, ...] | None = None) -> NDArray[np.float32]:
        """An input in float32."""
        operand = self.operand(slot)
        return self._source(operand, shape or operand.shape, np.dtype(self.formats.working))

    def rows(self, slot: str) -> NDArray[np.float32]:
        """An input in float32 as (partitions, elements)."""
        return self.read(slot, _flat(self.operand(slot).shape))

    def column(self, slot: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """An input of one value per partition, shaped to broadcast against ``shape``."""
        operand = self.operand(slot)
        if operand.size != operand.shape[0]:
            raise self.fault("SIM-SHAPE", f"{slot} of shape {operand.shape} has more than one value per partition")
        return self.read(slot, (operand.shape[0],) + (1,) * (len(shape) - 1))

    def scalar(self, slot: str, attribute: str, shape: tuple[int, ...], default: float = 0.0) -> Any:
        """An operand that is a tile of one value per partition or an immediate."""
        if self.has(slot):
            return self.column(slot, shape)
        value = self[attribute]
        return self.number(default if value is None else value)

    def _source(self, operand: Operand, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        if self.formats.stored(operand.dtype) == dtype and operand.view is not None:
            seen = _reshaped(operand.view, shape)
            if seen is not None:
                return _to_read(seen)
        work = self.work(operand.shape, dtype)
        if operand.view is not None:
            self.do(np.copyto, work, operand.view, casting="unsafe")
        else:
            self.do(operand.fetch, work)
        return work.reshape(shape)

    def target(self, slot: str, shape: tuple[int, ...] | None = None, keep: bool = False) -> NDArray[np.float32]:
        """A float32 output; with ``keep`` it begins with the old content."""
        operand = self.operand(slot)
        shape = shape or operand.shape
        worked = self.formats.stored(operand.dtype) == self.formats.working
        if operand.view is not None and worked and not _repeats(operand.view):
            seen = _reshaped(operand.view, shape)
            if seen is not None:
                self._shorten_later(operand, seen)
                return seen
        work = self.work(operand.shape)
        if keep:
            self.do(operand.fetch, work)
        self._shorten_later(operand, work)
        self._store_later(operand, work)
        return work.reshape(shape)

    def raw_target(self, slot: str, shape: tuple[int, ...] | None = None, keep: bool = False) -> Array:
        """An output in its own format."""
        operand = self.operand(slot)
        shape = shape or operand.shape
        if operand.view is not None and not _repeats(operand.view):
            seen = _reshaped(operand.view, shape)
            if seen is not None:
                return seen
        work = self.work(operand.shape, self.formats.stored(operand.dtype))
        if keep:
            self.do(operand.fetch, work)
        self._store_later(operand, work)
        return work.reshape(shape)

    def _shorten_later(self, operand: Operand, values: Array) -> None:
        if self.formats.shortens(operand.dtype):
            self._pending.append(partial(shorten, values, values))

    def _store_later(self, operand: Operand, work: Array) -> None:
        stored = self.formats.stored(operand.dtype)
        if work.dtype != stored:
            final = operand.view if operand.view is not None else self.work(operand.shape, stored)
            self._pending.append(partial(from_working(operand.dtype, self.bench), work, final))
            work = final
        if work is not operand.view:
            self._pending.append(partial(operand.put, work))

    def cast(self, source: Array, source_dtype: str, slot: str) -> None:
        """Store an array in any format to an output, through float32 where two formats need it."""
        target = self.raw_target(slot, source.shape)
        dtype = self.operand(slot).dtype
        if self.formats.converts(source_dtype, dtype):
            self.do(np.copyto, target, source, casting="unsafe")
            return
        middle = self.work(source.shape)
        self.do(np.copyto, middle, source, casting="unsafe")
        self.do(from_working(dtype, self.bench), middle, target)

    def accumulators(self, slot: str) -> NDArray[np.float32]:
        """The engine's accumulator of each lane that an operand's partitions occupy, as (partitions, 1)."""
        operand = self.operand(slot)
        start, count = operand.start_partition, operand.shape[0]
        if operand.dynamic and operand.by_rows:
            return self._moving_lanes(slot, operand)
        if start + count > LANES:
            raise self.fault("SIM-SHAPE", f"partitions {start} to {start + count - 1} have no lane")
        return self.bench.accumulators[self.core, self.engine][start : start + count].reshape(count, 1)

    def settle(self, slot: str, command: str, answers: bool) -> None:
        """Note which lanes a command sets; raises ExecutionError once any is read, as who ``answers`` does, or added to
        that nothing has set in this run. What the Vector Engine's hold after ``idle``, the documents leave open.
        """
        operand, settled = self.operand(slot), self.bench.settled[self.core, self.engine]
        lost = command == "idle" and self.engine == "vector"
        if command in RESETS or lost:
            self.do(lambda: _lanes(operand, settled, self.line).fill(not lost))
        if command == "reduce" or (answers and command not in RESETS):
            self.do(lambda: self._require(_lanes(operand, settled, self.line)))

    def _require(self, settled: NDArray[np.bool_]) -> None:
        if not settled.all():
            message = "accumulators are read that nothing, or only idle, has set; begin with reduce_cmd=reset_reduce"
            raise ExecutionError("SIM-ACCUMULATOR-UNSET", message, self.line)

    def _moving_lanes(self, slot: str, operand: Operand) -> NDArray[np.float32]:
        """A copy of the lanes under an operand that moves, taken before and put back after the instruction."""
        if slot not in self._copies:
            accumulators = self.bench.accumulators[self.core, self.engine]
            copy = self._copies[slot] = self.work((operand.shape[0], 1))
            self.do(lambda: np.copyto(copy, _lanes(operand, accumulators, self.line)))
            self._pending.append(lambda: np.copyto(_lanes(operand, accumulators, self.line), copy))
        return self._copies[slot]


def _lanes(operand: Operand, lanes: NDArray[L], line: int) -> NDArray[L]:
    """Those lanes over which an operand stands now; one that moves inside its partitions keeps its lanes."""
    moved = (operand.shift() or 0) // operand.row if operand.by_rows else 0
    start, count = operand.start_partition + moved, operand.shape[0]
    if not 0 <= start <= LANES - count:
        raise ExecutionError("SIM-SHAPE", f"partitions {start} to {start + count - 1} have no lane", line)
    return lanes[start : start + count].reshape(count, 1)


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], math.prod(shape[1:]))


def _reshaped(view: Array, shape: tuple[int, ...]) -> Array | None:
    """The view in another shape without copying, else None."""
    if view.shape == shape:
        return view
    if view.size != math.prod(shape):
        raise ValueError(f"an operand of shape {view.shape} cannot be taken as {shape}")
    changed = view.reshape(shape)
    return changed if np.may_share_memory(changed, view) else None


def _to_read(view: Array) -> Array:
    """The same storage, which no definition can write to by mistake."""
    seen = view.view()
    seen.flags.writeable = False
    return seen


def _repeats(view: Array) -> bool:
    """Whether several elements are one place, so that what one stage leaves there is lost to the next."""
    return any(count > 1 and step == 0 for count, step in zip(view.shape, view.strides, strict=True))
