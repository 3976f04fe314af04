"""A program made ready to run many times: storage bound, each instruction a short list of steps, each loop one step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.execution.accumulation import Written
from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.choices import Choices
from nki_anvil.sim.execution.cores import Interleaving, exchange
from nki_anvil.sim.execution.errors import ExecutionError
from nki_anvil.sim.execution.formats import CHIP, Formats
from nki_anvil.sim.execution.fresh import Fresh
from nki_anvil.sim.execution.linker import Linker
from nki_anvil.sim.execution.lots import Lots
from nki_anvil.sim.execution.memory import Memory
from nki_anvil.sim.execution.outcome import Outcome
from nki_anvil.sim.execution.paired_loops import unlike_loops
from nki_anvil.sim.execution.races import Touched
from nki_anvil.sim.execution.sums import Foreign
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import NONE, ROLES, Program

DEFAULT_STEPS: Final = 1 << 26
"""Loop iterations times instructions in their bodies: some minutes of simulation, far above any kernel seen."""


class Executable:
    """A validated program with storage bound to it, for one thread at a time; no run finds anything of an earlier one.

    Raises NotSimulated for an instruction that has no definition here, and ExecutionError where operands do not fit.
    ``share`` makes equal instructions share one template; without it each is made ready by itself, with equal results.
    ``formats`` says how numbers are held; ``choices`` is told which way choices go, and decides some.
    """

    def __init__(
        self,
        program: Program,
        steps: int = DEFAULT_STEPS,
        share: bool = True,
        formats: Formats = CHIP,
        choices: Choices | None = None,
    ) -> None:
        self.program = program
        self._budget = steps
        self._memory = Memory(program, formats)
        self._bench = Bench(len(program.tables["regions"]["kind"]), program.cores, formats, choices)
        self._writes = Written(self._memory)
        self._fresh = Fresh(self._memory, self._bench, self._writes)
        self._linker = Linker(self._memory, self._bench, self._writes, share)
        self._touched = Touched(self._memory, self._bench)
        self._foreign = Foreign(self._memory, self._bench, self._writes)
        self._arguments = self._tensors("input", "argument")
        self._written = self._written_inputs()
        self._steps = self._schedule()

    def run(self, inputs: Sequence[NDArray[Any]], poison: int = 0, again: bool = False, lot: int = 0) -> Outcome:
        """Run on arrays in the order of the kernel's tensor arguments; raises ExecutionError where the kernel fails.

        ``poison`` selects what fresh memory holds (``poison.pattern``), and with ``lot`` what else is open (``lots``).
        ``again`` lets generators that nothing seeds begin elsewhere: on a chip they go on from the last kernel.
        """
        self._bench.reset(Lots(poison, lot), self._budget, again)
        self._memory.forget(poison)
        self._constants()
        self._load(inputs)
        with np.errstate(all="ignore"):
            try:
                for step in self._steps:
                    step()
            except (ValueError, IndexError, FloatingPointError, OverflowError, TypeError) as error:
                raise ExecutionError("SIM-FAILED", f"an instruction cannot be carried out: {error}") from error
        self._bench.report_all(unlike_loops(self.program, self._bench.trips))
        return self._outcome(inputs)

    def _outcome(self, inputs: Sequence[NDArray[Any]]) -> Outcome:
        after = [
            self._argument(position, array).copy() if position in self._written else array
            for position, array in enumerate(inputs)
        ]
        outputs = self.program.tables["outputs"]["access"].tolist()
        return Outcome(
            outputs=[self._memory.view(access).copy() for access in outputs],
            inputs_after=after,
            written=tuple(sorted(self._written)),
            findings=self._bench.findings(),
            trips=tuple(self._bench.trips),
            printed="".join(self._bench.printed),
        )

    def _tensors(self, role: str, column: str) -> dict[int, int]:
        tensors = self.program.tables["tensors"]
        chosen = np.flatnonzero(tensors["role"] == ROLES.index(role))
        return {int(tensors[column][tensor]): int(tensor) for tensor in chosen}

    def _written_inputs(self) -> set[int]:
        every, inputs = operands(self.program), self.program.tables["tensors"]["argument"]
        owners = self.program.tables["accesses"]["tensor"][every.access[every.writes]]
        return set(inputs[owners].tolist()) - {NONE}

    def _constants(self) -> None:
        tensors = self.program.tables["tensors"]
        for tensor in np.flatnonzero(tensors["role"] == ROLES.index("constant")).tolist():
            source = self.program.constants[int(tensors["constant"][tensor])]
            moved = self._memory.formats.moved and self._memory.dtype(tensor) in dtypes.FLOATS
            self._memory.block(tensor)[...] = (self._memory.formats.number(source) if moved else source).reshape(-1)

    def _argument(self, position: int, like: NDArray[Any]) -> NDArray[Any]:
        block = self._memory.block(self._arguments[position])
        return block.view(np.bool_).reshape(like.shape) if like.dtype == np.bool_ else block.reshape(like.shape)

    def _load(self, inputs: Sequence[NDArray[Any]]) -> None:
        for position, tensor in self._arguments.items():
            if position >= len(inputs):
                raise ExecutionError("SIM-INPUTS", f"the program takes more than the {len(inputs)} arrays given")
            self._bind(tensor, _plain(inputs[position]), position)

    def _bind(self, tensor: int, array: NDArray[Any], position: int) -> None:
        block, dtype = self._memory.block(tensor), dtypes.numpy_dtype(self._memory.dtype(tensor))
        if array.size != block.size or array.dtype != dtype:
            wanted = f"{block.size} elements of {self._memory.dtype(tensor)}"
            given = f"{array.dtype.name} of shape {array.shape}"
            raise ExecutionError("SIM-INPUTS", f"input {position} is {given}; the program was traced for {wanted}")
        np.copyto(block.reshape(array.shape), array)

    def _schedule(self) -> list[Step]:
        if self.program.cores == 1:
            body = self._block(0, len(self.program), NONE)
        else:
            body = Interleaving(self.program, self._bench, self._block, self._exchange, self._together).steps()
        return [
            *self._touched.begin(),
            *self._foreign.begin(),
            *self._fresh.at_start(),
            *body,
            *self._touched.end(),
            *self._fresh.at_end(),
        ]

    def _exchange(self, indices: tuple[int, ...]) -> list[Step]:
        """Where both cores meet: after a barrier nothing more is to do, a sendrecv swaps tiles."""
        sites, met = [self._linker.site(index) for index in indices], self._touched.met(indices)
        regions = self.program.tables["instructions"]["region"]
        fresh = [step for index in indices for step in self._fresh.before(index, int(regions[index]))]
        if sites[0].instruction.name != "sendrecv":
            return [*fresh, *met]
        return [*fresh, *met, *(step for site in sites for step in site.finish()), *exchange(sites)]

    def _together(self, regions: tuple[int, ...], body: list[Step]) -> list[Step]:
        """Loops in whose bodies the cores meet: a trip of one is a trip of all."""
        fresh = [step for region in regions for step in self._fresh.before_loop(region)]
        return [*fresh, self._loop(regions, body)]

    def _block(self, first: int, last: int, region: int) -> list[Step]:
        """The steps of a body: its instructions and, as one step each, the loops directly inside it."""
        loops = [loop for loop in self._children(region) if first <= loop[0] and loop[1] <= last]
        steps: list[Step] = []
        position = first
        while position < last or (loops and loops[0][0] <= position):
            if loops and loops[0][0] <= position:
                start, stop, loop = loops.pop(0)
                steps += self._fresh.before_loop(loop)
                steps.append(self._loop((loop,), self._block(start, stop, loop)))
                position = max(position, stop)
            else:
                steps += self._fresh.before(position, region)
                steps += self._instruction(position)
                position += 1
        return steps

    def _children(self, region: int) -> list[tuple[int, int, int]]:
        rows = self.program.tables["regions"]
        chosen = np.flatnonzero(rows["parent"] == region).tolist()
        return sorted((int(rows["first"][r]), int(rows["last"][r]), r) for r in chosen)

    def _loop(self, regions: tuple[int, ...], body: list[Step]) -> Step:
        """One loop, or those of both cores trip by trip."""
        rows = self.program.tables["regions"]
        counted = int(rows["kind"][regions[0]]) == 0
        first, last = int(rows["first"][regions[0]]), int(rows["last"][regions[0]])
        line = int(self.program.tables["instructions"]["line"][first]) if last > first else 0
        return partial(self._count if counted else self._repeat, regions, body, line)

    def _count(self, regions: tuple[int, ...], body: list[Step], line: int) -> None:
        rows, registers = self.program.tables["regions"], self._bench.registers
        variables = [int(rows["register"][region]) for region in regions]
        counts = [self._values(region, line) for region in regions]
        if any(len(count) != len(counts[0]) for count in counts):
            raise _apart([len(count) for count in counts], line)
        for values in zip(*counts, strict=True):
            self._spend(len(body), line)
            for region, variable, value in zip(regions, variables, values, strict=True):
                registers[variable] = value
                self._bench.trips[region] += 1
            for step in body:
                step()
        for variable in variables:  # what it holds behind its loop is told nowhere
            registers.pop(variable, None)

    def _values(self, region: int, line: int) -> range:
        rows = self.program.tables["regions"]
        lower, upper = (self._bound(rows, name, region, line) for name in ("lower", "upper"))
        return range(lower, upper, int(rows["step"][region]))

    def _repeat(self, regions: tuple[int, ...], body: list[Step], line: int) -> None:
        conditions = [int(self.program.tables["regions"]["register"][region]) for region in regions]
        while any(going := [self._bench.registers.read(condition, line) != 0 for condition in conditions]):
            if not all(going):
                raise _apart(
                    [self._bench.trips[region] + one for region, one in zip(regions, going, strict=True)], line
                )
            self._spend(len(body), line)
            for region in regions:
                self._bench.trips[region] += 1
            for step in body:
                step()

    def _bound(self, rows: Any, name: str, region: int, line: int) -> int:
        register = int(rows[f"{name}_register"][region])
        return int(rows[name][region]) if register == NONE else self._bench.registers.read(register, line)

    def _spend(self, steps: int, line: int) -> None:
        self._bench.steps_left -= steps + 1
        if self._bench.steps_left < 0:
            message = f"a loop did not end within {self._budget} steps; check the register that should stop it"
            raise ExecutionError("SIM-STEPS", message, line)

    def _instruction(self, index: int) -> list[Step]:
        watching = (self._touched, self._foreign)
        return [
            *(step for watch in watching for step in watch.before(index)),
            *self._linker.steps(index),
            *(step for watch in watching for step in watch.after(index)),
            *self._writes.after(index),
        ]


def _apart(trips: list[int], line: int) -> ExecutionError:
    counts = " and ".join(map(str, trips))
    return ExecutionError(
        "SIM-LNC", f"a loop in which the cores meet runs {counts} times: one core waits for ever", line
    )


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Booleans as the bytes that Trainium stores."""
    return np.ascontiguousarray(array).view(dtypes.numpy_dtype("bool_")) if array.dtype == np.bool_ else array
