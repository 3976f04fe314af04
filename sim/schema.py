"""Whether a decoded program means anything: indices in range, accesses inside their tensors, values of their kind.

A program may come from kernel text that someone hostile wrote. What passes here can be checked, costed and executed
without a crash, without reading outside a tensor and without allocating or looping beyond stated limits; whether the
chip would accept it is for the rules to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes, ownership
from nki_anvil.sim.attributes import kind_of
from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.kinds import WIDTHS
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import MEMORIES, NONE, REGION_KINDS, ROLES, SCHEMA, Program, ProgramError

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may ask for, all far above the kernels seen in public."""

    rows: int = 1 << 23
    """Of any table: eight million instructions take minutes to execute."""
    pairs: int = 1 << 24
    dimensions: int = 8
    storage_bytes: int = 1 << 35
    """Of one tensor; Trainium2 refuses outputs of 4 GiB."""
    live_bytes: int = 1 << 36
    """Of all tensors together, as if none were recycled on chip."""
    span: int = 1 << 37
    """Elements between the first and the last that one dimension reaches."""
    chip_elements: int = 1 << 27
    """Elements that one instruction other than a DMA sees; SBUF holds 14 million floats."""
    registers: int = 1 << 16
    step: int = 1 << 40
    """Elements that a dynamic index moves an access by, per unit."""


DEFAULT: Final = Limits()


def validate(program: Program, limits: Limits = DEFAULT) -> None:
    """Raise ProgramError unless the program can be executed, checked and costed without harm."""
    _head(program, limits)
    _columns(program.tables, limits)
    _tensors(program, limits)
    _accesses(program, limits)
    _bounds(program, limits)
    _indirections(program, limits)
    _regions(program)
    _instructions(program, limits)
    _orders(program)
    _writes(program)
    _attributes(program)
    ownership.check(program)
    _inside(program.tables["outputs"]["access"], 0, _rows(program, "accesses"), "outputs.access")


def _require(holds: Any, message: str) -> None:
    if not (holds if isinstance(holds, bool) else bool(np.all(holds))):
        raise ProgramError(message)


def _inside(column: Column, low: int, high: int, name: str) -> None:
    """Values from ``low`` to ``high`` exclusive."""
    if len(column) and not (low <= int(column.min()) and int(column.max()) < high):
        bad = column[(column < low) | (column >= high)][0]
        raise ProgramError(f"{name} holds {int(bad)}, outside {low} to {high - 1}")


def _rows(program: Program, table: str) -> int:
    return len(program.tables[table][next(iter(SCHEMA[table]))])


def _head(program: Program, limits: Limits) -> None:
    _require(program.chip in CHIPS, f"no chip is called {program.chip!r}")
    _require(program.cores in (1, 2), f"{program.cores} cores; a program has 1 or 2")
    _require(0 <= program.registers <= limits.registers, f"{program.registers} registers")
    _require(len(program.version) <= 32 and len(program.printed) <= 1 << 20, "version or printed text too long")


def _columns(tables: Mapping[str, Mapping[str, Column]], limits: Limits) -> None:
    _require(set(tables) == set(SCHEMA), "the tables are not those of a program")
    for table, kinds in SCHEMA.items():
        columns = tables[table]
        _require(set(columns) == set(kinds), f"the columns of {table} are not those of a program")
        lengths = {len(column) for column in columns.values()}
        _require(len(lengths) == 1, f"the columns of {table} differ in length")
        most = limits.pairs if table == "pairs" else limits.rows
        _require(lengths.pop() <= most, f"{table} has more than {most} rows")
        for name, kind in kinds.items():
            _require(columns[name].dtype == np.dtype("<" + kind), f"{table}.{name} is not of type {kind}")


def _tensors(program: Program, limits: Limits) -> None:
    rows = program.tables["tensors"]
    count = _rows(program, "tensors")
    _require(len(program.shapes) == count and len(program.names) == count, "shapes and names are not one per tensor")
    _inside(rows["memory"], 0, len(MEMORIES), "tensors.memory")
    _inside(rows["role"], 0, len(ROLES), "tensors.role")
    _inside(rows["dtype"], 0, len(dtypes.NAMES), "tensors.dtype")
    _inside(rows["partitions"], 1, 1 << 20, "tensors.partitions")
    _inside(rows["elements"], 1, limits.storage_bytes + 1, "tensors.elements")
    _inside(rows["region"], NONE, _rows(program, "regions"), "tensors.region")
    _inside(rows["core"], 0, program.cores, "tensors.core")
    _inside(rows["address_partition"], NONE, 1 << 20, "tensors.address_partition")
    _inside(rows["address_byte"], NONE, 1 << 40, "tensors.address_byte")
    _require(rows["partitions"][rows["memory"] < MEMORIES.index("sbuf")] == 1, "a tensor in HBM has partitions")
    sizes = rows["partitions"] * rows["elements"] * _widths(rows["dtype"])  # below 2^59
    _require(sizes <= limits.storage_bytes, f"a tensor is larger than {limits.storage_bytes} bytes")
    _require(int(sizes.sum(dtype=np.float64)) <= limits.live_bytes, f"all tensors exceed {limits.live_bytes} bytes")
    _shapes(program)
    _arguments(program)
    _constants(program)


def _shapes(program: Program) -> None:
    rows = program.tables["tensors"]
    sizes: list[int] = (rows["partitions"] * rows["elements"]).tolist()
    for tensor, (shape, held) in enumerate(zip(program.shapes, sizes, strict=True)):
        sensible = len(shape) <= 32 and all(0 < n <= 1 << 40 for n in shape)
        _require(sensible and math.prod(shape) == held, f"tensor {tensor} of shape {shape} holds {held} elements")


def _arguments(program: Program) -> None:
    rows = program.tables["tensors"]
    inputs = rows["role"] == ROLES.index("input")
    positions = np.sort(rows["argument"][inputs])
    _require(np.array_equal(positions, np.arange(len(positions))), "inputs are not numbered from 0")
    _require(rows["argument"][~inputs] == NONE, "a tensor that is no input has an argument")
    _require(rows["memory"][inputs] == MEMORIES.index("shared_hbm"), "an input is not in shared HBM")


def _constants(program: Program) -> None:
    rows = program.tables["tensors"]
    constant = rows["role"] == ROLES.index("constant")
    _require(rows["constant"][~constant] == NONE, "a tensor that is no constant has one")
    _inside(rows["constant"][constant], 0, len(program.constants), "tensors.constant")
    for tensor in np.flatnonzero(constant).tolist():
        array = program.constants[int(rows["constant"][tensor])]
        held = int(rows["partitions"][tensor]) * int(rows["elements"][tensor])
        fits = array.size == held and array.dtype == dtypes.numpy_dtype(dtypes.NAMES[int(rows["dtype"][tensor])])
        _require(fits, f"constant of tensor {tensor} does not match it")


def _widths(codes: Column) -> NDArray[np.int64]:
    """Bytes per element by dtype code."""
    return WIDTHS[codes]


def _accesses(program: Program, limits: Limits) -> None:
    rows, pairs = program.tables["accesses"], program.tables["pairs"]
    _inside(rows["tensor"], 0, _rows(program, "tensors"), "accesses.tensor")
    _inside(rows["dtype"], 0, len(dtypes.NAMES), "accesses.dtype")
    _inside(rows["pairs"], 1, limits.dimensions + 1, "accesses.pairs")
    _inside(rows["first_pair"], 0, _rows(program, "pairs") + 1, "accesses.first_pair")
    _inside(rows["first_pair"] + rows["pairs"], 0, _rows(program, "pairs") + 1, "accesses.first_pair")
    _inside(rows["offset"], 0, limits.span + 1, "accesses.offset")
    _inside(pairs["count"], 1, limits.span + 1, "pairs.count")
    _inside(pairs["step"], -limits.span, limits.span + 1, "pairs.step")
    reach = np.abs(pairs["step"].astype(np.float64)) * (pairs["count"] - 1)
    _require(reach <= limits.span, f"a dimension reaches over more than {limits.span} elements")


def _bounds(program: Program, limits: Limits) -> None:
    """Every static access inside its tensor; rows in the whole width of its own dtype."""
    rows, pairs, tensors = (program.tables[name] for name in ("accesses", "pairs", "tensors"))
    spans = pairs["step"] * (pairs["count"] - 1)
    gathered = rows["vector_access"] != NONE
    first = rows["first_pair"] + gathered  # a gathered access takes its rows from the index
    last = rows["first_pair"] + rows["pairs"]
    low = rows["offset"] + _between(np.minimum(spans, 0), first, last)
    high = rows["offset"] + _between(np.maximum(spans, 0), first, last)
    tensor, width = rows["tensor"], _widths(rows["dtype"])
    row_bytes = tensors["elements"][tensor] * _widths(tensors["dtype"])[tensor]
    size = row_bytes * tensors["partitions"][tensor] // width
    outside = np.flatnonzero((low < 0) | (high >= size))
    if len(outside):
        a = int(outside[0])
        raise ProgramError(f"access {a} reaches {int(low[a])} to {int(high[a])} in a tensor of {int(size[a])} elements")
    chip = tensors["memory"][tensor] >= MEMORIES.index("sbuf")
    _require(row_bytes[chip] % width[chip] == 0, "an access is of a dtype that does not divide a partition's bytes")
    _volumes(program, limits, chip)


def _between(values: Column, first: Column, last: Column) -> NDArray[np.int64]:
    """Sums of slices of a column."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])  # at most 2^24 values of 2^37
    return total[last] - total[first]


def _volumes(program: Program, limits: Limits, chip: Column) -> None:
    rows, pairs = program.tables["accesses"], program.tables["pairs"]
    logs = _between_floats(np.log2(pairs["count"].astype(np.float64)), rows)
    _require(logs[chip] <= math.log2(limits.chip_elements) + 1e-6, "an on-chip access sees too many elements")
    _require(logs <= math.log2(limits.storage_bytes) + 1e-6, "an access sees too many elements")


def _between_floats(values: NDArray[np.float64], rows: Mapping[str, Column]) -> NDArray[np.float64]:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[rows["first_pair"] + rows["pairs"]] - total[rows["first_pair"]]


def _indirections(program: Program, limits: Limits) -> None:
    rows = program.tables["accesses"]
    count = _rows(program, "accesses")
    for column in ("scalar_access", "vector_access"):
        _inside(rows[column], NONE, count, f"accesses.{column}")
    _inside(rows["scalar_register"], NONE, program.registers, "accesses.scalar_register")
    kinds = sum((rows[c] != NONE).astype(np.int64) for c in ("scalar_access", "scalar_register", "vector_access"))
    _require(kinds <= 1, "an access has more than one dynamic offset")
    _inside(rows["scalar_step"], -limits.step, limits.step + 1, "accesses.scalar_step")
    vectors = np.flatnonzero(rows["vector_access"] != NONE)
    _inside(rows["vector_step"][vectors], 1, limits.step + 1, "accesses.vector_step")
    for access in vectors.tolist():
        _index(program, int(rows["vector_access"][access]), program.shape(access)[0])
    for access in np.flatnonzero(rows["scalar_access"] != NONE).tolist():
        _index(program, int(rows["scalar_access"][access]), 1)


def _index(program: Program, access: int, wanted: int) -> None:
    """An index is a static access with enough elements."""
    rows = program.tables["accesses"]
    static = all(int(rows[c][access]) == NONE for c in ("scalar_access", "scalar_register", "vector_access"))
    _require(static, "an index has a dynamic offset itself")
    held = math.prod(program.shape(access))
    _require(wanted <= held <= 1 << 20, f"an index of {held} values for {wanted} rows")


def _regions(program: Program) -> None:
    rows, count, end = program.tables["regions"], _rows(program, "regions"), len(program)
    _inside(rows["kind"], 0, len(REGION_KINDS), "regions.kind")
    _inside(rows["parent"], NONE, count, "regions.parent")
    _require(rows["parent"] < np.arange(count), "a loop stands before the loop around it")
    _inside(rows["first"], 0, end + 1, "regions.first")
    _inside(rows["last"], 0, end + 1, "regions.last")
    _require(rows["first"] <= rows["last"], "a loop ends before it begins")
    _inside(rows["register"], 0, program.registers, "regions.register")
    for name in ("lower_register", "upper_register"):
        _inside(rows[name], NONE, program.registers, f"regions.{name}")
    _inside(rows["lower"], -(1 << 31), 1 << 32, "regions.lower")
    _inside(rows["upper"], -(1 << 31), 1 << 32, "regions.upper")
    counted = rows["kind"] == REGION_KINDS.index("fori")
    _inside(rows["step"][counted], 1, 1 << 31, "regions.step")
    _nesting(program)


def _nesting(program: Program) -> None:
    """Loops nest, siblings do not overlap, the depth is bounded, and each instruction names its innermost loop."""
    rows = program.tables["regions"]
    expected = np.full(len(program), NONE, np.int64)
    depth: list[int] = []
    ends: dict[int, int] = {}
    for region in range(_rows(program, "regions")):
        parent, first, last = (int(rows[name][region]) for name in ("parent", "first", "last"))
        depth.append(1 if parent == NONE else depth[parent] + 1)
        _require(depth[-1] <= 32, "loops nest deeper than 32")
        outer = (0, len(program)) if parent == NONE else (int(rows["first"][parent]), int(rows["last"][parent]))
        _require(outer[0] <= first and last <= outer[1], f"loop {region} leaves the loop around it")
        _require(ends.get(parent, 0) <= first, f"loop {region} overlaps the one before it")
        ends[parent] = last
        expected[first:last] = region
    _require(program.tables["instructions"]["region"] == expected, "an instruction names another loop than its own")


def _instructions(program: Program, limits: Limits) -> None:
    rows, operands = program.tables["instructions"], program.tables["operands"]["access"]
    _inside(rows["opcode"], 0, len(NAMES), "instructions.opcode")
    _inside(rows["engine"], 0, len(ENGINES), "instructions.engine")
    _inside(rows["attributes"], 0, len(program.attributes), "instructions.attributes")
    _inside(rows["core"], 0, program.cores, "instructions.core")
    _inside(operands, NONE, _rows(program, "accesses"), "operands.access")
    slots = np.array([len(TABLE[name].slots) for name in NAMES])[rows["opcode"]]
    _require(rows["operands"] == slots, "an instruction has another number of operands than its table row")
    _inside(rows["first_operand"], 0, len(operands) + 1, "instructions.first_operand")
    _inside(rows["first_operand"] + rows["operands"], 0, len(operands) + 1, "instructions.first_operand")
    for code in np.unique(rows["opcode"]).tolist():
        _slots(program, code, np.flatnonzero(rows["opcode"] == code))


def _orders(program: Program) -> None:
    """None but the one in which they stand, or others in which each instruction of straight code on one core is."""
    rows, count = _rows(program, "orders"), len(program)
    if not rows:
        return
    _require(program.cores == 1 and not _rows(program, "regions"), "only straight code on one core has other orders")
    _require(rows == count, f"the other orders are of {rows} instructions, not of {count}")
    for name, order in program.tables["orders"].items():
        _inside(order, 0, count, f"orders.{name}")
        _require(np.bincount(order, minlength=count) == 1, f"orders.{name} names an instruction more than once")


def _slots(program: Program, code: int, sites: NDArray[np.intp]) -> None:
    """Required slots filled, for all instructions of one opcode."""
    rows, operands = program.tables["instructions"], program.tables["operands"]["access"]
    row = TABLE[NAMES[code]]
    for position, slot in enumerate((*row.writes, *row.reads)):
        if not slot.endswith("?"):
            filled = operands[rows["first_operand"][sites] + position] != NONE
            _require(filled, f"{row.name} without its {slot}")


def _writes(program: Program) -> None:
    """Constants stay as they are: what is written there would still be there when the kernel is called again."""
    every, tensors = operands(program), program.tables["tensors"]
    written = program.tables["accesses"]["tensor"][every.access[every.writes]]
    spoilt = np.flatnonzero(tensors["role"][written] == ROLES.index("constant"))
    if len(spoilt):
        raise ProgramError(f"an instruction writes to the constant of line {int(tensors['line'][written[spoilt[0]]])}")


def _attributes(program: Program) -> None:
    rows = program.tables["instructions"]
    seen = np.unique(rows["attributes"].astype(np.int64) * len(NAMES) + rows["opcode"])
    for pair in map(int, seen):
        record, name = program.attributes[pair // len(NAMES)], NAMES[pair % len(NAMES)]
        declared = TABLE[name].attributes
        _require(set(record) == set(declared), f"{name} has the attributes {sorted(record)}, not {sorted(declared)}")
        for attribute in declared:
            value = record[attribute]
            _require(kind_of(name, attribute)(value), f"{name} has {attribute}={value!r:.80}")
        for register in ("register", "source", "other"):
            index = record.get(register)
            _require(index is None or 0 <= index < program.registers, f"{name} names register {index}")
