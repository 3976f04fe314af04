"""The Beta 1 program while it grows: a loop's body is traced once and its rows repeated, as far as they stay alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from nki_anvil.sim.beta1 import dependencies, overlaid, splitting
from nki_anvil.sim.beta1.allocation import ByHand
from nki_anvil.sim.beta1.assembly import Recorded, tabulated
from nki_anvil.sim.beta1.bodies import Bodies
from nki_anvil.sim.beta1.branches import choices, inside
from nki_anvil.sim.beta1.growth import Growth, repeated
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.paths import Path
from nki_anvil.sim.beta1.places import declared, out_of_scope, overlap, same_place
from nki_anvil.sim.beta1.shared import Shared
from nki_anvil.sim.beta1.sites import DEPTH, NOWHERE, WIDTH, along, moved
from nki_anvil.sim.beta1.storage import Held, Placed, Uses
from nki_anvil.sim.beta1.tensors import DTYPE, Tensors
from nki_anvil.sim.beta1.turning import EVER, FLAG, UNORDERED, held, turn_bodies, turn_iterations
from nki_anvil.sim.beta1.turning import WIDTH as INSTRUCTION_WIDTH
from nki_anvil.sim.coverage import dense_elements
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import WRITES
from nki_anvil.sim.program import NONE, SCHEMA, Program
from nki_anvil.sim.tensor import Indirect, NkiTensor

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.annotations import Annotated
    from nki_anvil.sim.beta1.definitions import Place
    from nki_anvil.sim.beta1.tile import Tile

INSTRUCTION: Final = tuple(SCHEMA["instructions"])
_WRITES: Final = tuple(WRITES.tolist())
_DIRECT: Final = Indirect()
_STRAIGHT: Final = (0,) * (INSTRUCTION_WIDTH - FLAG)
"""No flag, and in all orders where it stands."""
_FIRST_OPERAND: Final = INSTRUCTION.index("first_operand")


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
    scope: int = NONE
    source: str = ""
    index: Index | None = None
    undeclared: dict[int, Any] = field(default_factory=dict[int, Any])
    bodies: Bodies = field(default_factory=Bodies)
    """Those so far, where iterations are unlike."""
    mark: int = 0
    """Where its instructions begin, to take them off."""
    edges: list[int] = field(default_factory=list[int])
    """The instruction that it begins with, then those that follow each traced body and its repetitions."""
    shared: Shared = field(default_factory=Shared)
    """What its bodies do to tensors from outside of it."""
    held: int = EVER
    """How many of its bodies that are unlike may stand side by side: as many as the largest of them lets."""
    grew: bool = False
    """Whether it changed a result from outside by ``+=``: its second iteration is traced, which may use another."""


@dataclass
class Last:
    """The instruction that was recorded last, whose destination may still be changed."""

    instruction: int
    opcode: int
    first_site: int
    operands: tuple[NkiTensor | None, ...]
    values: tuple[Any, ...]


class Recorder(Tensors):
    """Collects one Beta 1 program."""

    beta1 = True

    def __init__(self, chip: str, version: str, source: str) -> None:
        super().__init__(chip, version, source)
        self.dialect = "beta1"
        self.views = True
        self.path = Path()
        self.by_hand = ByHand()
        self.parts: list[ref[Tile]] = []
        """Masked results, as long as somebody holds them."""
        self.loops: list[Loop] = []
        self.last: Last | None = None
        self.uses: dict[Placed, Uses] = {}
        self._lent: dict[tuple[Placed, Held], NkiTensor] = {}
        self._grown: dict[Placed, int] = {}
        self.grid: tuple[Index | int, ...] = ()
        self.extents: tuple[int, ...] = ()
        self._scope = 0
        self._sites = Growth(WIDTH)
        self._reached: dict[int, int] = {}
        self._instructions = Growth(INSTRUCTION_WIDTH)
        self._annotated: list[Annotated] = []
        """Shapes that the text says, of names that are not bound yet."""
        self._heads: dict[CodeType, frozenset[Place]] = {}

    def read_as_kernel(self, code: CodeType, names: Mapping[str, Any]) -> frozenset[Place]:
        """Note a function that the compiler reads, with its module's names: the kernel, or a jitted one it calls.

        Returns where its loops over Python's ``range`` begin.
        """
        from nki_anvil.sim.beta1.annotations import annotated
        from nki_anvil.sim.beta1.ranges import heads_of

        if code not in self.path.kernels:
            self.path.kernels |= dict.fromkeys(inside(code), choices(code, names))
            self._annotated += annotated(code, names)
            self._heads[code] = heads_of(code, names)
        return self._heads[code]

    # loops

    def iterate(self, name: str, start: int, trips: int, step: int, kind: str) -> Iterator[Index]:
        """Yield the index of each iteration whose body has to be traced; the others are repeated from those."""
        depth = len(self.loops) + 1
        if depth > DEPTH:
            raise TraceError("NKI-CONTROL", f"{depth} loops in each other.", remedy=f"Nest at most {DEPTH}.")
        loop = Loop(depth, kind, name, trips, self.line(), source=self.source)
        loop.mark, loop.edges = self._instructions.mark(), [self._instructions.count]
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
        if not loop.done and loop.kind != "block":
            self._settle()
        self._scope += 1
        self.scopes.append(self._scope)
        loop.scope = self._scope
        self.path.enter()
        self.last = None
        sites, instructions = self._sites.count, self._instructions.count
        marks = (self._tensors.mark(), self._sites.mark(), self._instructions.mark())
        return (*marks, sites, instructions)

    def _settle(self) -> None:
        parts, self.parts = self.parts, []
        for tile in (tile for one in parts if (tile := one()) is not None):
            tile.settle()

    def held(self, place: NkiTensor) -> Held:
        """A result's standing at a place to which its instruction writes now."""
        return Held(self.uses[declared(place)].written, self._instructions.count)

    def lend(self, place: NkiTensor, held: Held) -> None:
        """Raises NotSimulated where a result that was assigned to a place is used, and the place has changed since."""
        if self.uses[declared(place)].written != held.written:
            raise gone(place.storage.name)
        if self.loops:
            self._lent[declared(place), held] = place

    def grown(self, tensor: NkiTensor, *, fresh: bool = False) -> int:
        """How often ``grow`` changed a result; what a kernel declares itself is no result and shows what it holds."""
        return self._grown.setdefault(declared(tensor), 0) if fresh else self._grown.get(declared(tensor), 0)

    def grow(self, tensor: NkiTensor) -> None:
        """Note that a result, if it is one, was changed in place."""
        if declared(tensor) in self._grown:
            self._grown[declared(tensor)] += 1
            for loop in self.loops:
                loop.grew |= declared(tensor).scope < loop.scope

    def _keep_lent(self, times: int, before: int) -> None:
        """What a turn uses that was there before it, and then overwrites, the next turn would find overwritten."""
        for (place, lent), tensor in self._lent.items() if times > 1 else ():
            if lent.since <= before and self.uses[place].written != lent.written:
                raise gone(tensor.storage.name)
        if len(self.loops) == 1:
            self._lent.clear()

    def _repeat(self, loop: Loop, marks: tuple[int, int, int, int, int], remaining: int) -> int:
        """Close a body and repeat its rows for all following iterations that are like it; returns their number."""
        times = self.path.leave(loop.depth, 1 if loop.grew and not loop.done else remaining)
        self._keep_lent(times, marks[4])
        self.scopes.pop()
        self.last = None
        tensors, sites = self._tensors.take(marks[0]), self._sites.take(marks[1])
        instructions = self._instructions.take(marks[2])
        first_tensor, first_site = self._tensors.count, self._sites.count
        dependencies.check(loop, times, sites, instructions, first_tensor, self)
        every = moved(sites, times, loop.depth, first_tensor, len(tensors), first_site)
        rows, turn = repeated(instructions, times)
        rows[:, _FIRST_OPERAND] += turn * len(sites)
        if loop.kind in UNORDERED:
            loop.shared.add(instructions, times, sites, first_site, first_tensor, self._attributes)
            most = held(tensors, sites[:, 0] - first_tensor)
            loop.held = min(loop.held, most)
            turn_iterations(rows, turn, times, most)
        if times < loop.trips and loop.kind in UNORDERED:
            loop.bodies.add(loop, every, rows, first_site, first_tensor, self)
        self._tensors.put(repeated(tensors, times)[0])
        self._sites.put(every)
        self._instructions.put(rows)
        loop.edges.append(self._instructions.count)
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
        while loop in self.loops:
            self._turn(self.loops.pop())
        self.last = None

    def _turn(self, loop: Loop) -> None:
        """Where a loop without an order runs in another one, so do its bodies that were traced one by one."""
        if loop.edges[-1] < self._instructions.count:
            loop.edges.append(self._instructions.count)
        if loop.kind in UNORDERED and len(loop.edges) > 2:
            rows = self._instructions.take(loop.mark)
            turn_bodies(rows, loop.edges, loop.shared.writes(len(rows)), loop.held)
            self._instructions.put(rows)

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
        head = (storage.index, DTYPE[tensor.dtype], tensor.offset, first, len(tensor.shape))
        moves = (*along(storage.turns), *along(storage.shifts, storage.dtype, tensor.dtype))
        return (*head, *(tensor.indirection or _DIRECT), reached, *moves)

    # instructions

    def record(
        self, opcode: int, engine: int, operands: Sequence[NkiTensor | None], values: tuple[Any, ...] = ()
    ) -> None:
        """One instruction, or as many as the engine needs for it."""
        if self._annotated:
            self._compare_annotated()
        smaller = splitting.parts(NAMES[opcode], operands)
        if smaller is not None:
            for few in smaller:
                self.record(opcode, engine, few, values)
            return
        rows = [NOWHERE if tensor is None else self._site(tensor) for tensor in operands]
        first = self._sites.count
        for row in rows:
            self._sites.add(row)
        self._count_uses(opcode, operands)
        attributes = self._attribute_record(opcode, values)
        row = (opcode, engine, attributes, first, len(operands), NONE, self.core, self.line(), *_STRAIGHT)
        number = self._instructions.add(row)
        self.last = Last(number, opcode, first, tuple(operands), values)

    def _compare_annotated(self) -> None:
        from nki_anvil.sim.beta1.annotations import compare

        compare(self._annotated)

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

    def pattern_at(self, first: int, count: int) -> list[tuple[int, int]]:
        """The (step, count) pairs of a site."""
        return [(step, size) for step, size in self._rows["pairs"][first : first + count]]

    def attribute_records(self) -> list[dict[str, Any]]:
        """The attribute records so far."""
        return self._attributes

    def flag_last(self, flag: int) -> None:
        """Mark the last instruction: a fill that can be left out where nothing reads it, or an accumulation."""
        self.flag_since(self._instructions.count - 1, flag)

    def flag_since(self, before: int, flag: int) -> None:
        """Mark all instructions from a number on."""
        for number in range(before, self._instructions.count):
            self._instructions.replace(number, (*self._instructions.row(number)[:FLAG], flag, *_STRAIGHT[1:]))

    def instructions_before(self) -> int:
        """Instructions recorded so far."""
        return self._instructions.count

    # the end

    def finish(self, printed: str = "") -> Program:
        """The program, with equal accesses counted once and without what nothing uses."""
        rows = Recorded(
            self._instructions.all(), self._sites.all(), self._tensors.all(), self._rows["pairs"], self._rows["outputs"]
        )
        tables, shapes, names = tabulated(rows, self._attributes)
        program = Program(
            chip=self.chip,
            version=self.dialect,
            cores=1,
            registers=self.registers,
            tables=tables,
            attributes=self._attributes,
            constants=self._constants,
            shapes=[self._shapes[number] for number in shapes],
            names=[self._names[number] for number in names],
            printed=printed,
        )
        overlaid.settle(program)
        return program


def gone(name: str) -> NotSimulated:
    """What is said of a result that is used after its place got other content."""
    return NotSimulated(
        f"A result was assigned to {name or 'a tensor'}, whose content has changed since, and is used again.",
        remedy="Keep the value: assign nl.copy(result) instead.",
    )


_IN_PLACE: Final = frozenset(
    {"tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "activation", "tensor_copy", "reciprocal"}
)
"""Instructions that read each element before they write it, so that dst may be an operand."""


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
