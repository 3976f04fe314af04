"""Whatever conflicts when a program runs, byte by byte, the cost model orders: no kernel gains by hiding a conflict.

A register is read when an instruction is issued: nobody waits for its readers.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from program_builder import ProgramBuilder, View

from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.costs.meetings import meetings
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.dtypes import NAMES as DTYPES
from nki_anvil.sim.dtypes import size_of
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.model import Model
from nki_anvil.sim.program import NONE, Program

TENSORS: tuple[dict[str, Any], ...] = (
    {"shape": (8, 4, 6), "dtype": "float32"},
    {"shape": (8, 24), "dtype": "bfloat16", "address": (0, 0)},
    {"shape": (8, 10), "dtype": "float32", "address": (4, 8)},
    {"shape": (5, 3, 7), "dtype": "bfloat16", "memory": "private_hbm"},
    {"shape": (90,), "dtype": "float32", "memory": "private_hbm"},
)
"""One tile that the compiler places, two at addresses that overlap, two in HBM; the views of them are of any width."""
NUMBERS, BOUND = 3, 3
"""Registers that move views, and the one that bounds loops."""

pair = st.tuples(st.integers(-20, 40), st.integers(1, 6))
moved = st.none() | st.tuples(st.integers(0, NUMBERS - 1), st.integers(1, 24))
view = st.tuples(st.integers(0, len(TENSORS) - 1), st.sampled_from(("int8", "bfloat16", "float32")),
                 st.integers(0, 200), st.lists(pair, min_size=1, max_size=3), moved)  # fmt: skip
copy = st.tuples(st.just("copy"), st.sampled_from(("vector", "scalar", "gpsimd")), view, view)
count = st.tuples(st.just("count"), st.integers(0, NUMBERS - 1), st.integers(0, NUMBERS - 1), st.integers(-2, 3))
bound = st.tuples(st.just("bound"), st.integers(0, 3))
simple = st.one_of(copy, copy, copy, copy, count, bound)
loop = st.tuples(st.just("loop"), st.sampled_from((0, 1, 3, None)), st.lists(simple, max_size=4))
programs = st.lists(st.one_of(simple, simple, simple, loop), min_size=3, max_size=10)


class Made:
    """Copies between views, counting in registers, and loops around them."""

    def __init__(self, steps: list[Any]) -> None:
        self.builder = ProgramBuilder()
        self.tensors = [self.builder.tensor(**one) for one in TENSORS]
        self.registers = [self.builder.register() for _ in range(NUMBERS + 1)]
        self.add([("bound", 1), *steps])

    def add(self, steps: list[Any]) -> None:
        for kind, *values in steps:
            getattr(self, kind)(*values)

    def copy(self, engine: str, target: Any, source: Any) -> None:
        self.builder.emit("tensor_copy", self.view(*target), self.view(*source), engine=engine)

    def bound(self, value: int) -> None:
        self.builder.emit("register_move", register=self.registers[BOUND], source=None, value=value)

    def count(self, register: int, source: int, value: int) -> None:
        self.builder.emit("register_compute", register=self.registers[register], source=self.registers[source],
                          other=None, op="add", value=value, reverse0=False)  # fmt: skip

    def loop(self, trips: int | None, body: list[Any]) -> None:
        upper = {"upper_register": self.registers[BOUND]} if trips is None else {"upper": trips}
        with self.builder.loop("fori", self.builder.register(), **upper):
            self.add(body)

    def view(self, tensor: int, dtype: str, start: int, parts: Any, moved: Any) -> View:
        """As much of the wanted pattern as lies inside."""
        whole = self.tensors[tensor]
        size = int(np.prod(whole.shape)) * size_of(whole.dtype) // size_of(dtype)
        low = high = start % size
        pattern: list[tuple[int, int]] = []
        for step, wanted in parts:
            room = (size - 1 - high) // step if step > 0 else low // -step if step < 0 else wanted
            kept = min(wanted, room + 1)
            low, high = low + min(step, 0) * (kept - 1), high + max(step, 0) * (kept - 1)
            pattern.append((step, kept))
        made = whole.ap(pattern, start % size, dtype)
        return made if moved is None else self.builder.shifted(made, moved[1], register=self.registers[moved[0]])


class Ran(NamedTuple):
    """One instruction as it ran: places that it read and wrote, registers among them, and its loop's bound."""

    instruction: int
    read: set[Any]
    written: set[Any]
    bound: int
    """The run that wrote the bound of its loop before it began, else NONE."""


class OutsideError(Exception):
    """A view was moved out of its tensor."""


def run(program: Program, runs: list[Ran], trips: list[int]) -> None:
    """Append every instruction in the order in which it runs; counts the loops' trips."""
    rows, regions = program.tables["instructions"], program.tables["regions"]
    registers, index = [0] * program.registers, 0
    while index < len(program):
        region = int(rows["region"][index])
        if region == NONE:
            runs.append(_one(program, index, registers, NONE))
            index += 1
            continue
        upper = int(regions["upper_register"][region])
        trips[region] = int(regions["upper"][region]) if upper == NONE else registers[upper]
        writers = [number for number, one in enumerate(runs) if ("register", upper) in one.written]
        for _ in range(trips[region]):
            for inside in range(int(regions["first"][region]), int(regions["last"][region])):
                runs.append(_one(program, inside, registers, writers[-1] if writers else NONE))
        index = int(regions["last"][region])


def _one(program: Program, index: int, registers: list[int], bound: int) -> Ran:
    rows, accesses = program.tables["instructions"], program.tables["accesses"]
    row, record = TABLE[NAMES[int(rows["opcode"][index])]], program.attributes[int(rows["attributes"][index])]
    read, written = set[Any](), set[Any]()
    for slot, access in enumerate(program.operands(index)):
        (written if slot < len(row.writes) else read).update(_places(program, access, registers))
        if accesses["scalar_register"][access] != NONE:
            read.add(("register", int(accesses["scalar_register"][access])))
    if "register" in record:
        target, source = record["register"], record["source"]
        written.add(("register", target))
        if source is not None:
            read.add(("register", source))
        registers[target] = record["value"] + (0 if source is None else registers[source])
    return Ran(index, read, written, bound)


def _places(program: Program, access: int, registers: list[int]) -> set[Any]:
    """The bytes under an access; those at an address are named by partition and byte of the chip."""
    row, tensors = program.tables["accesses"], program.tables["tensors"]
    tensor, register = int(row["tensor"][access]), int(row["scalar_register"][access])
    width = size_of(DTYPES[int(row["dtype"][access])])
    places = np.array([int(row["offset"][access])])
    if register != NONE:
        places = places + registers[register] * int(row["scalar_step"][access])
    for step, wanted in program.pattern(access):
        places = (places[:, None] + step * np.arange(wanted)).reshape(-1)
    pitch = int(tensors["elements"][tensor]) * size_of(DTYPES[int(tensors["dtype"][tensor])])
    found = (places[:, None] * width + np.arange(width)).reshape(-1)
    if found.min() < 0 or found.max() >= pitch * int(tensors["partitions"][tensor]):
        raise OutsideError
    partition, byte = int(tensors["address_partition"][tensor]), int(tensors["address_byte"][tensor])
    if byte == NONE:
        return {(tensor, place) for place in found.tolist()}
    return {("sbuf", partition + place // pitch, byte + place % pitch) for place in found.tolist()}


@given(programs)
@settings(max_examples=100)
def test_whatever_conflicts_when_a_program_runs_is_ordered(steps: list[Any]) -> None:
    program = Made(steps).builder.program()
    trips = [0] * len(program.tables["regions"]["kind"])
    runs: list[Ran] = []
    try:
        run(program, runs, trips)
    except OutsideError:
        return
    found = Model(program, CHIPS["trn2"], RATES["trn2"], trips).run()
    assert [one.instruction for one in runs] == found.laid_out.order
    before = reached(found.found.edges, range(len(runs)))
    for later, one in enumerate(runs):
        assert one.bound == NONE or before[later] >> one.bound & 1
        for earlier, other in enumerate(runs[:later]):
            assert not conflict(one, other) or before[later] >> earlier & 1, (earlier, later, conflict(one, other))


def reached(edges: list[list[tuple[int, int]]], order: Sequence[int]) -> dict[int, int]:
    """Per position, the bits of all that it waits for, directly or not."""
    before: dict[int, int] = {}
    for position in order:
        before[position] = 0
        for earlier, _ in edges[position]:
            before[position] |= before[earlier] | 1 << earlier
    return before


def conflict(later: Ran, earlier: Ran) -> set[Any]:
    """The places for whose sake one waits for the other."""
    read = {place for place in earlier.read if place[0] != "register"}
    return later.read & earlier.written | later.written & (earlier.written | read)


part = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 2), st.integers(0, 7), st.integers(1, 8))
stretches = st.lists(st.lists(part, max_size=5), min_size=1, max_size=4)


@given(stretches)
@settings(max_examples=100)
def test_what_two_cores_do_before_and_after_they_meet_is_ordered(stretches: list[list[Any]]) -> None:
    builder = ProgramBuilder(cores=2)
    shared = [builder.tensor((8, 4), memory="shared_hbm") for _ in range(3)]
    where: list[tuple[int, int]] = []
    for core in (0, 1):
        builder.core = core
        for number, parts in enumerate(stretches):
            for _, target, source, start, rows in (one for one in parts if one[0] == core):
                builder.emit("dma_copy", shared[target][start : start + rows], shared[source][0:rows])
                where.append((core, number))
            builder.emit("core_barrier", shared[0], engine="gpsimd", cores=[0, 1])
            where.append((core, number))
    program = builder.program()
    runs = [_one(program, index, [], NONE) for index in range(len(program))]
    found = Model(program, CHIPS["trn2"], RATES["trn2"]).run()
    before = reached(found.found.edges, meetings(program, found.laid_out.order).visits)
    for later, earlier in itertools.permutations(range(len(runs)), 2):
        (core, number), (other, sooner) = where[later], where[earlier]
        ordered = later > earlier if core == other else number > sooner
        if ordered and conflict(runs[later], runs[earlier]):
            assert before[later] >> earlier & 1, (earlier, later)
