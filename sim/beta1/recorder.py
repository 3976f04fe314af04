"""The Beta 1 program while it grows: a loop's body is traced once and its rows repeated, as far as they stay alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1 import dependencies, leftovers, splitting
from nki_anvil.sim.beta1.growth import Growth, Rows, repeated
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.paths import Path
from nki_anvil.sim.beta1.storage import Placed, Uses
from nki_anvil.sim.builder import Builder
from nki_anvil.sim.coverage import dense_elements
from nki_anvil.sim.dtypes import DTYPES, DType, size_of
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import firsts, numbered
from nki_anvil.sim.layout import Shape, row_major
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.program import MEMORIES, NONE, ROLES, SCHEMA, Program
from nki_anvil.sim.tensor import Indirect, NkiTensor

DEPTH: Final = 16
"""Loops that may stand in each other, those of the launch grid included."""

TENSOR: Final = tuple(SCHEMA["tensors"])
SITE: Final = (*SCHEMA["accesses"],)
INSTRUCTION: Final = tuple(SCHEMA["instructions"])

_MEMORY: Final = {region: MEMORIES.index(region.value) for region in MemoryRegion}
_DTYPE: Final = {dtype: index for index, dtype in enumerate(DTYPES)}
_WRITES: Final = tuple(len(TABLE[name].writes) for name in NAMES)
_DIRECT: Final = Indirect()

_OFFSET: Final = SITE.index("offset")
_REFERENCES: Final = tuple(SITE.index(name) for name in ("scalar_access", "vector_access"))
_FIRST_OPERAND: Final = INSTRUCTION.index("first_operand")
_TURNS: Final = len(SITE) + 1
"""Behind the columns of an access stands how many elements it reaches without a gap, then its moves by depth."""
_SHIFTS: Final = _TURNS + DEPTH
_NOWHERE: Final = (*(NONE,) * len(SITE), 0)


@dataclass
class Loop:
    """An open loop."""

    depth: int
    kind: str
    name: str
    trips: int
    line: int
    done: int = 0
    """Iterations that are recorded."""
    scope: int = 0
    source: str = ""
    index: Index | None = None
    undeclared: dict[int, Any] = field(default_factory=dict[int, Any])


@dataclass
class Last:
    """The instruction that was recorded last, whose destination may still be changed."""

    instruction: int
    opcode: int
    first_site: int
    operands: tuple[NkiTensor | None, ...]
    values: tuple[Any, ...]


class Recorder(Builder):
    """Collects one Beta 1 program."""

    def __init__(self, chip: str, version: str, source: str) -> None:
        super().__init__(chip, version, source)
        self.on_hbm: Callable[[NkiTensor], None] | None = None
        """Told of each tensor that the kernel allocates in HBM."""
        self.views = True
        self.path = Path()
        self.loops: list[Loop] = []
        self.last: Last | None = None
        self.scopes: list[int] = [0]
        self.uses: dict[Placed, Uses] = {}
        self.hbm: list[NkiTensor] | None = None
        """Tensors in HBM that the launch's programs share, in the order of allocation; None where there is one."""
        self.grid: tuple[Index | int, ...] = ()
        self.extents: tuple[int, ...] = ()
        self._next_hbm = 0
        self._scope = 0
        self._bases: list[int] = []
        self._names_of: dict[str, int] = {}
        self._shapes_of: dict[Shape, int] = {}
        self._tensors = Growth(len(TENSOR) + 2)
        self._sites = Growth(_SHIFTS + DEPTH)
        self._reached: dict[int, int] = {}
        self._instructions = Growth(len(INSTRUCTION) + 1)

    # loops

    def iterate(self, name: str, start: int, trips: int, step: int, kind: str) -> Iterator[Index]:
        """Yield the index of each iteration whose body has to be traced; the others are repeated from those."""
        depth = len(self.loops) + 1
        if depth > DEPTH:
            raise TraceError("NKI-CONTROL", f"{depth} loops in each other.", remedy=f"Nest at most {DEPTH}.")
        loop = Loop(depth, kind, name, trips, self.line(), source=self.source)
        self.loops.append(loop)
        try:
            while loop.done < trips:
                marks = self._begin(loop)
                loop.index = Index(start + step * loop.done, {depth: step})
                yield loop.index
                loop.done += self._repeat(loop, marks, trips - loop.done)
        finally:
            self._abandon(loop)

    def _begin(self, loop: Loop) -> tuple[int, int, int, int, int]:
        self._scope += 1
        self.scopes.append(self._scope)
        loop.scope = self._scope
        self.path.enter()
        self.last = None
        sites, instructions = self._sites.count, self._instructions.count
        marks = (self._tensors.mark(), self._sites.mark(), self._instructions.mark())
        return (*marks, sites, instructions)

    def _repeat(self, loop: Loop, marks: tuple[int, int, int, int, int], remaining: int) -> int:
        """Close a body and repeat its rows for all following iterations that are like it; returns their number."""
        times = self.path.leave(loop.depth, remaining)
        self.scopes.pop()
        self.last = None
        tensors, sites = self._tensors.take(marks[0]), self._sites.take(marks[1])
        instructions = self._instructions.take(marks[2])
        first_tensor, first_site = self._tensors.count, self._sites.count
        dependencies.check(loop, times, sites, instructions, first_tensor, self)
        self._tensors.put(repeated(tensors, times)[0])
        self._sites.put(_moved_sites(sites, times, loop.depth, first_tensor, len(tensors), first_site))
        rows, turn = repeated(instructions, times)
        rows[:, _FIRST_OPERAND] += turn * len(sites)
        self._instructions.put(rows)
        return times

    def _abandon(self, loop: Loop) -> None:
        """The loop is over; one that was left by a break has an open body, which stays as it is."""
        if loop not in self.loops:
            return
        if loop.scope in self.scopes:
            del self.scopes[self.scopes.index(loop.scope) :]
            while len(self.path.open) > loop.depth:
                left = self.path.open.pop()
                self.path.open[-1].extend(left)
        del self.loops[self.loops.index(loop) :]
        self.last = None

    # tensors

    def allocate(
        self,
        shape: Shape,
        dtype: DType,
        buffer: MemoryRegion,
        name: str = "",
        *,
        role: str = "internal",
        argument: int = NONE,
        constant: int = NONE,
        address: tuple[int, int] | None = None,
        blocks: int = 1,
    ) -> NkiTensor:
        """A fresh tensor, or as many in a row as there are ``blocks``."""
        if self.hbm is not None and not buffer.on_chip and role == "internal":
            return self._shared_by_programs(shape, dtype, buffer, name)
        partitions, elements = (shape[0], math.prod(shape[1:])) if buffer.on_chip else (1, math.prod(shape))
        place = address or (NONE, NONE)
        row = (_MEMORY[buffer], ROLES.index(role), _DTYPE[dtype], partitions, elements, argument, constant, *place)
        full = (*row, NONE, self.core, self.line(), self._shape_number(shape), self._name_number(name))
        index = self._tensors.count
        while self._bases and self._bases[-1] >= index:
            self._bases.pop()
        self._bases.append(index)
        if blocks == 1:
            self._tensors.add(full)
        else:
            self._tensors.put(np.tile(np.array(full, np.int64), (blocks, 1)))
        storage = Placed(index, self, buffer, dtype, partitions, elements, NONE, name, blocks=blocks)
        storage.scope = self.scopes[-1] if buffer.on_chip else 0
        tensor = NkiTensor(storage, dtype, 0, shape, row_major(shape))
        if self.on_hbm is not None and not buffer.on_chip and role == "internal":
            self.on_hbm(tensor)
        return tensor

    def _shared_by_programs(self, shape: Shape, dtype: DType, buffer: MemoryRegion, name: str) -> NkiTensor:
        """The tensor that the first program of the launch allocated at this place."""
        assert self.hbm is not None
        if self._next_hbm < len(self.hbm):
            tensor = self.hbm[self._next_hbm]
            self._next_hbm += 1
            if tensor.shape == shape and tensor.dtype == dtype:
                return tensor
        raise TraceError(
            "NKI-GRID",
            "The programs of a launch allocate different tensors in HBM.",
            remedy="Allocate them outside of branches on nl.program_id.",
        )

    def share(self, tensors: Sequence[tuple[Shape, DType, MemoryRegion, str]]) -> None:
        """Allocate what the programs of a launch share."""
        self.hbm = None
        made = [self.allocate(*one) for one in tensors]
        self.hbm = made

    def restart(self) -> None:
        """Another program of the launch begins."""
        self._next_hbm = 0

    def _shape_number(self, shape: Shape) -> int:
        number = self._shapes_of.setdefault(shape, len(self._shapes))
        if number == len(self._shapes):
            self._shapes.append(shape)
        return number

    def _name_number(self, name: str) -> int:
        number = self._names_of.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        return number

    def rename(self, tensor: int, name: str) -> None:
        """Names are given when a tensor is made; an argument's is changed before anything else is recorded."""
        rows = self._tensors.all()
        rows[tensor, len(TENSOR) + 1] = self._name_number(name)

    def constant_tensor(self, array: NDArray[Any], dtype: DType, shape: Shape, buffer: MemoryRegion) -> NkiTensor:
        """A tensor that holds an array of the kernel's text; equal ones of one loop body are stored once."""
        key = (array.tobytes(), dtype, shape, buffer, self.scopes[-1])
        known = self._constant_tensors.get(key)
        if known is None:
            known = self.allocate(shape, dtype, buffer, role="constant", constant=len(self._constants))
            self._constants.append(array)
            self._constant_tensors[key] = known
        return known

    # accesses

    def access(self, tensor: NkiTensor) -> int:
        """A row for one look at a tensor; each look has its own until equal ones are counted, at the end."""
        return self._sites.add(self._site(tensor))

    def _site(self, tensor: NkiTensor) -> tuple[int, ...]:
        storage = tensor.storage
        if not isinstance(storage, Placed) or storage.trace is not self:
            raise TraceError(
                "NKI-TYPE", f"{tensor!r} belongs to another run.", remedy="Allocate tensors inside the kernel."
            )
        if storage.scope not in self.scopes:
            raise out_of_scope(tensor)
        first = self._pattern(tensor.shape, tensor.strides)
        reached = self._reached.get(first)
        if reached is None:
            reached = self._reached[first] = dense_elements(list(zip(tensor.strides, tensor.shape, strict=True)))
        head = (storage.index, _DTYPE[tensor.dtype], tensor.offset, first, len(tensor.shape))
        moves = (*_along(storage.turns), *_along(storage.shifts, storage.dtype, tensor.dtype))
        return (*head, *(tensor.indirection or _DIRECT), reached, *moves)

    # instructions

    def record(
        self, opcode: int, engine: int, operands: Sequence[NkiTensor | None], values: tuple[Any, ...] = ()
    ) -> None:
        """One instruction, or as many as the engine needs for it."""
        smaller = splitting.parts(NAMES[opcode], operands)
        if smaller is not None:
            for few in smaller:
                self.record(opcode, engine, few, values)
            return
        rows = [_NOWHERE if tensor is None else self._site(tensor) for tensor in operands]
        first = self._sites.count
        for row in rows:
            self._sites.add(row)
        self._count_uses(opcode, operands)
        attributes = self._attribute_record(opcode, values)
        row = (opcode, engine, attributes, first, len(operands), NONE, self.core, self.line(), 0)
        number = self._instructions.add(row)
        self.last = Last(number, opcode, first, tuple(operands), values)

    def _count_uses(self, opcode: int, operands: Sequence[NkiTensor | None]) -> None:
        writes = _WRITES[opcode]
        for slot, tensor in enumerate(operands):
            if tensor is not None:
                uses = self.uses.setdefault(declared(tensor), Uses())
                uses.touched += 1
                uses.written += slot < writes

    def redirect(self, result: NkiTensor, target: NkiTensor, values: tuple[Any, ...] | None = None) -> bool:
        """Let the last instruction write to ``target`` instead of a result that nothing else has touched.

        ``values`` replace its attributes. False where the result was written otherwise or read.
        """
        last = self.last
        if last is None or not _writes_alone(last, result) or self.uses[declared(result)].touched != 1:
            return False
        if splitting.deep(target) or not self._may_write(last, target):
            return False
        self._sites.replace(last.first_site, self._site(target))
        self.uses[declared(result)].touched = 0
        self.uses.setdefault(declared(target), Uses()).touched += 1
        self.uses[declared(target)].written += 1
        last.operands = (target, *last.operands[1:])
        if values is not None:
            row = list(self._instructions.last())
            row[2] = self._attribute_record(last.opcode, values)
            self._instructions.replace(last.instruction, tuple(row))
        return True

    def _may_write(self, last: Last, target: NkiTensor) -> bool:
        """Whether an instruction may write where it reads: only exactly there, and element by element."""
        reads = [tensor for tensor in last.operands[_WRITES[last.opcode] :] if tensor is not None]
        met = [tensor for tensor in reads if overlap(tensor, target)]
        return not met or (NAMES[last.opcode] in _IN_PLACE and all(same_place(tensor, target) for tensor in met))

    def sites_before(self) -> int:
        """Sites recorded so far: after a body was taken off, where its first one stood."""
        return self._sites.count

    def attribute_records(self) -> list[dict[str, Any]]:
        """The attribute records so far."""
        return self._attributes

    def name_of(self, tensor: int) -> str:
        """What messages call a tensor by its number."""
        row = self._tensors.row(tensor)
        name = self._names[row[len(TENSOR) + 1]]
        return f"{name!r}" if name else f"A tensor of shape {self._shapes[row[len(TENSOR)]]}"

    def declared_at(self, tensors: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first block of the declared tensor that each number belongs to."""
        bases = np.array(self._bases, np.int64)
        return bases[np.searchsorted(bases, tensors, side="right") - 1]

    def flag_last(self, flag: int) -> None:
        """Mark the last instruction: a fill that can be left out where nothing reads it, or an accumulation."""
        self._instructions.replace(self._instructions.count - 1, (*self._instructions.last()[:-1], flag))

    # the end

    def output(self, tensor: NkiTensor) -> None:
        """The next returned tensor; Beta 1 returns any tensor in HBM, as if it were shared."""
        row = self._tensors.row(tensor.storage.index)
        if row[0] == _MEMORY[MemoryRegion.private_hbm]:
            self._tensors.all()[tensor.storage.index, 0] = _MEMORY[MemoryRegion.shared_hbm]
        self._rows["outputs"].append((self.access(tensor),))

    def finish(self, printed: str = "") -> Program:
        """The program, with equal accesses counted once and without what nothing uses."""
        instructions, sites, tensors = self._instructions.all(), self._sites.all(), self._tensors.all()
        outputs = np.array(self._rows["outputs"], np.int64).reshape(-1)
        cleaned = leftovers.removed(instructions, sites, tensors, outputs, self._attributes)
        instructions, operands, sites, tensors, outputs = cleaned
        shape_numbers: list[int] = tensors[:, len(TENSOR)].tolist()
        name_numbers: list[int] = tensors[:, len(TENSOR) + 1].tolist()
        tables = {
            "tensors": _columns("tensors", tensors),
            "accesses": {},
            "pairs": _columns("pairs", np.array(self._rows["pairs"], np.int64).reshape(-1, 2)),
            "instructions": _columns("instructions", instructions),
            "operands": {},
            "regions": _columns("regions", np.zeros((0, len(SCHEMA["regions"])), np.int64)),
            "outputs": {},
        }
        of, chosen = _different(sites)
        for reference in _REFERENCES:
            there = chosen[:, reference] != NONE
            chosen[there, reference] = of[chosen[there, reference]]
        tables["accesses"] = _columns("accesses", chosen)
        tables["operands"] = {"access": _renumbered(of, operands).astype("<i4")}
        tables["outputs"] = {"access": of[outputs].astype("<i4")}
        return Program(
            chip=self.chip,
            version="beta1",
            cores=1,
            registers=self.registers,
            tables=tables,
            attributes=self._attributes,
            constants=self._constants,
            shapes=[self._shapes[number] for number in shape_numbers],
            names=[self._names[number] for number in name_numbers],
            printed=printed,
        )


_IN_PLACE: Final = frozenset(
    {"tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "activation", "tensor_copy", "reciprocal"}
)
"""Instructions that read each element before they write it, so that dst may be an operand."""


def _along(moves: Any, stored: DType | None = None, seen: DType | None = None) -> tuple[int, ...]:
    """Moves by depth as a row of all depths; offsets count elements of the dtype they are seen in."""
    if not moves:
        return (0,) * DEPTH
    row = [0] * DEPTH
    for depth, move in moves.items():
        row[depth - 1] = move if stored is seen or stored is None or seen is None else _rescaled(move, stored, seen)
    return tuple(row)


def _rescaled(move: int, stored: DType, seen: DType) -> int:
    return move * size_of(stored) // size_of(seen)


def declared(tensor: NkiTensor) -> Placed:
    """The declared tensor under a view."""
    storage = tensor.storage
    assert isinstance(storage, Placed)
    return storage.declared


def _writes_alone(last: Last, result: NkiTensor) -> bool:
    """Whether the first operand of an instruction is the result, all of it, and the instruction writes nothing else."""
    target = last.operands[0] if last.operands else None
    return (
        target is not None
        and _WRITES[last.opcode] > 0
        and declared(target) is declared(result)
        and target.shape == result.shape
        and target.offset == result.offset
    )


def overlap(one: NkiTensor, other: NkiTensor) -> bool:
    """Whether two looks can meet: they are of one block."""
    return declared(one) is declared(other) and one.storage.index == other.storage.index


def same_place(one: NkiTensor, other: NkiTensor) -> bool:
    """Whether two looks are the same elements in the same order."""
    return (
        one.storage.index == other.storage.index
        and (one.offset, one.shape, one.strides, one.dtype) == (other.offset, other.shape, other.strides, other.dtype)
        and one.indirection == other.indirection
    )


def out_of_scope(tensor: NkiTensor) -> TraceError:
    """The error for a tile that is used after the loop it was made in."""
    name = f"Tensor {tensor.name!r}" if tensor.name else f"A tile of shape {tensor.shape}"
    return TraceError(
        "NKI-SCOPE",
        f"{name} is used outside of the loop in which it was made.",
        remedy="Allocate it with nl.ndarray or nl.zeros before the loop, and assign to it by index inside:"
        " t[...] = value.",
    )


def _moved_sites(sites: Rows, times: int, depth: int, first_tensor: int, tensors: int, first_site: int) -> Rows:
    """The accesses of all iterations: each turn moves by its own steps and by what the body declares."""
    if times == 1:
        sites[:, [_TURNS + depth - 1, _SHIFTS + depth - 1]] = 0
        return sites
    rows, turn = repeated(sites, times)
    local = (rows[:, 0] >= first_tensor) * tensors
    rows[:, 0] += turn * (rows[:, _TURNS + depth - 1] + local)
    rows[:, _OFFSET] += turn * rows[:, _SHIFTS + depth - 1]
    for reference in _REFERENCES:
        inside = rows[:, reference] >= first_site
        rows[inside, reference] += turn[inside] * len(sites)
    rows[:, [_TURNS + depth - 1, _SHIFTS + depth - 1]] = 0
    return rows


def _columns(table: str, rows: Rows) -> dict[str, NDArray[Any]]:
    kinds = SCHEMA[table]
    return {name: np.ascontiguousarray(rows[:, i], dtype="<" + kind) for i, (name, kind) in enumerate(kinds.items())}


def _different(sites: Rows) -> tuple[NDArray[np.int64], Rows]:
    """The number of each site among the different ones, and those."""
    width = len(SITE)
    if not len(sites):
        return np.zeros(0, np.int64), np.zeros((0, width), np.int64)
    of = numbered([sites[:, column] for column in range(width)])
    return of, sites[firsts(of), :width].copy()


def _renumbered(of: NDArray[np.int64], operands: NDArray[np.int64]) -> NDArray[np.int64]:
    result = np.full(len(operands), NONE, np.int64)
    there = operands != NONE
    result[there] = of[operands[there]]
    return result
