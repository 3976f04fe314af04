"""The program while it grows: rows appended to the columns, equal accesses and attribute records stored once.

The builder judges nothing but what a program cannot say. Whatever a frontend calls finds the builder with ``live()``.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes, versions
from nki_anvil.sim.dtypes import DTYPES, DType
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.layout import Shape, row_major
from nki_anvil.sim.memory import MemoryRegion, Storage
from nki_anvil.sim.program import MEMORIES, NONE, REGION_KINDS, ROLES, SCHEMA, Program
from nki_anvil.sim.register import VirtualRegister, numbered
from nki_anvil.sim.tensor import Indirect, NkiTensor

_MEMORY: Final = {region: MEMORIES.index(region.value) for region in MemoryRegion}
_DTYPE: Final = {dtype: index for index, dtype in enumerate(DTYPES)}
_ATTRIBUTES: Final = tuple(TABLE[name].attributes for name in NAMES)
_DIRECT: Final = Indirect()
Place: TypeAlias = tuple[int, int, tuple[int, ...]]
"""Of an instruction: how many there were with it, its core, the loops around it."""
_PLAIN: Final = frozenset({bool, int, float, str, tuple, type(None)})
"""What an instruction's attributes are made of."""


class Builder:
    """Collects one program. ``source`` is the kernel's file, whose lines the rows are marked with."""

    beta1 = False
    """Whether the program is one of Beta 1's, whose compiler moves data and chooses engines itself."""

    def __init__(self, chip: str, version: str, source: str, cores: int = 1, *, gridded: bool = False) -> None:
        self.chip = chip
        self.version = version
        self.dialect = version
        """What the program says in place of a version: Beta 1's is the same in all of them."""
        self.views = not versions.before(version, "0.5")
        """Whether tensors have the view methods of NKI 0.5."""
        self.source = source
        self.cores = cores
        self.gridded = gridded
        """Whether the launch has an axis."""
        self.core = 0
        self.registers = 0
        self.region = NONE
        self.whiles: list[tuple[Any, int, VirtualRegister]] = []
        """Open ``while register:`` loops: where they stand, their region, their register."""
        self.in_order = 0
        """How many ``nl.no_reorder`` blocks are open."""
        self._rows: dict[str, list[tuple[int, ...]]] = {table: [] for table in SCHEMA}
        self._operands: list[int] = []
        self._accesses: dict[Any, int] = {}
        self._patterns: dict[tuple[Shape, Shape], int] = {}
        self._records: dict[tuple[int, Any], int] = {}
        self._attributes: list[dict[str, Any]] = []
        self._constants: list[NDArray[Any]] = []
        self._constant_tensors: dict[Any, NkiTensor] = {}
        self._shapes: list[Shape] = []
        self._names: list[str] = []
        self._shared: list[Storage] = []
        self._next_shared = 0
        self._named = 0
        """The first shared tensor of the call that is running: names are single in each."""
        self._agreed: dict[tuple[int, int], tuple[bytes, DType, Shape]] = {}
        self._agreed_on: Counter[int] = Counter()
        self._own = 0
        """The first tensor that only this core has."""

    def line(self) -> int:
        """The kernel line that is being executed, innermost first; 0 where none is on the stack."""
        frame, source = sys._getframe(1), self.source  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if frame.f_code.co_filename == source:
                return frame.f_lineno
            frame = frame.f_back
        return 0

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
    ) -> NkiTensor:
        """A fresh tensor. Memory of a second core that is shared is the first core's of the same rank in order.

        Constants take no part in that order: whether one is fresh hangs on those that are known. Nor are there any in
        loops, whose turns the cores need not begin together.
        """
        partitions, elements = _block(shape, buffer)
        steps = row_major(shape)
        shared = buffer is MemoryRegion.shared_hbm and role == "internal"
        if shared and self.cores > 1 and self.region != NONE:
            raise _in_a_loop()
        if shared and self.core > 0:
            storage = self._share(partitions, elements, dtype, name)
        else:
            row = (_MEMORY[buffer], ROLES.index(role), _DTYPE[dtype], partitions, elements, argument, constant)
            place = address or (NONE, NONE)
            index = len(self._names)
            region = self.region if role == "internal" else NONE
            self._rows["tensors"].append((*row, *place, region, self.core, self.line()))
            self._shapes.append(shape)
            self._names.append(name)
            storage = Storage(index, self, buffer, dtype, partitions, elements, region, name, steps)
            if shared:
                if name and any(one.name == name for one in self._shared[self._named :]):
                    raise _named_twice(name)
                self._shared.append(storage)
        return NkiTensor(storage, dtype, 0, shape, steps)

    def _share(self, partitions: int, elements: int, dtype: DType, name: str) -> Storage:
        if self._next_shared < len(self._shared):
            storage = self._shared[self._next_shared]
            self._next_shared += 1
            if storage.name != name:
                raise _named_otherwise(storage.name, name)
            if (storage.partitions, storage.elements, storage.dtype) == (partitions, elements, dtype):
                return storage
        raise _unlike()

    def rename(self, tensor: int, name: str) -> None:
        """Change what messages call a tensor."""
        self._names[tensor] = name

    def constant_tensor(self, array: NDArray[Any], dtype: DType, shape: Shape, buffer: MemoryRegion) -> NkiTensor:
        """A tensor that holds an array of the kernel's text; equal ones are stored once."""
        array = _stored(array, dtype)
        key = (array.tobytes(), dtype, shape, buffer, self._stored_within())
        known = self._constant_tensors.get(key)
        if known is None:
            known = self.allocate(shape, dtype, buffer, role="constant", constant=len(self._constants))
            self._constants.append(array)
            self._constant_tensors[key] = known
        return known

    def agreed(self, array: NDArray[Any], dtype: DType, shape: Shape) -> None:
        """Raise TraceError where a line makes another shared constant on the second core than on the first."""
        if self.cores == 1:
            return
        line = self.line()
        content, place = (array.tobytes(), dtype, shape), (line, self._agreed_on[line])
        self._agreed_on[line] += 1
        if self.core == 0:
            self._agreed[place] = content
        elif self._agreed.get(place, content) != content:
            raise TraceError(
                "NKI-LNC",
                "nl.shared_constant has other data on the second core: both share one.",
                remedy="Make one constant of both cores' data, and slice it by nl.program_id(0).",
            )

    def _stored_within(self) -> object:
        """Equal constants of one core are stored once."""
        return self.core

    # accesses

    def access(self, tensor: NkiTensor) -> int:
        """The row of a view in the accesses."""
        storage, indirection = tensor.storage, tensor.indirection
        if storage.trace is not self:
            raise TraceError(
                "NKI-TYPE", f"{tensor!r} belongs to another run.", remedy="Allocate tensors inside the kernel."
            )
        if storage.index < self._own and storage.buffer is not MemoryRegion.shared_hbm:
            raise TraceError(
                "NKI-LNC",
                f"{tensor!r} is in the memory of the other core.",
                remedy="Exchange tiles with nisa.sendrecv, or through nl.shared_hbm and a nisa.core_barrier.",
            )
        if tensor.access != NONE:
            return tensor.access
        if 0 in tensor.shape:
            raise TraceError(
                "NKI-SHAPE", f"{tensor!r} is empty.", remedy="Leave the instruction out where there is nothing to do."
            )
        tensor.check_inside()
        key = (storage.index, tensor.dtype, tensor.offset, tensor.shape, tensor.strides, indirection)
        index = self._accesses.get(key)
        if index is None:
            index = self._accesses[key] = len(self._accesses)
            head = (storage.index, _DTYPE[tensor.dtype], tensor.offset, self._pattern(tensor.shape, tensor.strides))
            self._rows["accesses"].append((*head, len(tensor.shape), *(indirection or _DIRECT)))
        tensor.access = index
        return index

    def _pattern(self, shape: Shape, strides: Shape) -> int:
        first = self._patterns.get((shape, strides))
        if first is None:
            first = self._patterns[shape, strides] = len(self._rows["pairs"])
            self._rows["pairs"].extend(zip(strides, shape, strict=True))
        return first

    # instructions

    def record(
        self, opcode: int, engine: int, operands: Sequence[NkiTensor | None], values: tuple[Any, ...] = ()
    ) -> None:
        """One instruction; ``values`` in the order of its attributes in the table, lists as tuples."""
        accesses = self._operands
        first = len(accesses)
        for tensor in operands:
            accesses.append(NONE if tensor is None else self.access(tensor))
        attributes = self._attribute_record(opcode, values)
        row = (opcode, engine, attributes, first, len(operands), self.region, self.core, self.line())
        self._rows["instructions"].append(row)

    def place(self) -> Place:
        """Where the last instruction stands."""
        loops: tuple[int, ...] = ()
        region = self.region
        while region != NONE:
            loops, region = (region, *loops), self._rows["regions"][region][1]
        return len(self._rows["instructions"]), self.core, loops

    def _attribute_record(self, opcode: int, values: tuple[Any, ...]) -> int:
        key = (opcode, _distinct(values))
        index = self._records.get(key)
        if index is None:
            index = self._records[key] = len(self._attributes)
            self._attributes.append(dict(zip(_ATTRIBUTES[opcode], map(_plain, values), strict=True)))
        return index

    # registers and loops

    def register(self) -> VirtualRegister:
        """A fresh register."""
        self.registers += 1
        return numbered(VirtualRegister, self.registers - 1)

    def open_loop(
        self, kind: str, register: VirtualRegister, bounds: tuple[int, int, int], dynamic: tuple[int, int]
    ) -> int:
        """Begin a loop body; ``bounds`` are lower, upper, step, ``dynamic`` the registers that hold the first two."""
        if self.in_order:
            raise TraceError(
                "NKI-CONTROL", "A dynamic loop inside nl.no_reorder().", remedy="Open no_reorder in its body."
            )
        index, first = len(self._rows["regions"]), len(self._rows["instructions"])
        row = (REGION_KINDS.index(kind), self.region, first, first, register.index, *bounds, *dynamic)
        self._rows["regions"].append(row)
        self.region = index
        return index

    def close_loop(self, index: int) -> None:
        """End the body of the innermost loop."""
        if self.region != index:
            raise _left()
        row = self._rows["regions"][index]
        self._rows["regions"][index] = (*row[:3], len(self._rows["instructions"]), *row[4:])
        self.region = row[1]

    # the end

    def begin_call(self) -> None:
        """What follows is another call of a kernel that is right alone, and may take the names that it takes there."""
        self._named = len(self._shared)

    def begin_core(self, core: int) -> None:
        """What follows runs on another core of the pair."""
        self.core, self._next_shared, self.region, self._own = core, 0, NONE, len(self._names)
        self._agreed_on.clear()

    def end_core(self) -> None:
        """Raise TraceError where a second core has left out what the first one shares with it."""
        if self.core > 0 and self._next_shared < len(self._shared):
            raise _unlike()

    def output(self, tensor: NkiTensor) -> None:
        """The next returned tensor."""
        self._rows["outputs"].append((self.access(tensor),))

    def finish(self, printed: str = "") -> Program:
        """The program; raises TraceError where a dynamic loop was left by a break or a return."""
        if self.region != NONE:
            raise _left()
        self._rows["operands"] = [(access,) for access in self._operands]
        return Program(
            chip=self.chip,
            version=self.dialect,
            cores=self.cores,
            registers=self.registers,
            tables={table: _columns(table, rows) for table, rows in self._rows.items()},
            attributes=self._attributes,
            constants=self._constants,
            shapes=self._shapes,
            names=self._names,
            printed=printed,
        )


def _columns(table: str, rows: list[tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    kinds = SCHEMA[table]
    block = np.array(rows, dtype=np.int64).reshape(len(rows), len(kinds))
    return {name: np.ascontiguousarray(block[:, i], dtype="<" + kind) for i, (name, kind) in enumerate(kinds.items())}


def _unlike() -> TraceError:
    return TraceError(
        "NKI-LNC",
        "The two cores allocate different shared tensors.",
        remedy="Allocate shared_hbm outside of branches on program_id.",
    )


def _named_otherwise(first: str, second: str) -> TraceError:
    return TraceError(
        "NKI-LNC",
        f"What the two cores share is named {first!r} by the first and {second!r} by the second: names link it.",
        remedy="Give it the same name on both cores, or none.",
    )


def _named_twice(name: str) -> TraceError:
    return TraceError(
        "NKI-LNC",
        f"Two tensors in shared_hbm are named {name!r}: the compiler links those of one name.",
        remedy="Give each a name of its own.",
    )


def _in_a_loop() -> TraceError:
    return TraceError(
        "NKI-LNC",
        "What two cores share is allocated in the body of a loop.",
        remedy="Allocate shared_hbm before the loop, or private_hbm in it for one core alone.",
    )


def _left() -> TraceError:
    return TraceError(
        "NKI-CONTROL",
        "A dynamic loop is left before its end, by a break or a return.",
        remedy="It runs until its bound or its register says so: choose those instead.",
    )


def _distinct(values: tuple[Any, ...]) -> Any:
    """A key that keeps apart what Python calls equal: 0, 0.0, -0.0 and False. Raises TraceError for other types."""
    kinds = tuple(map(type, values))
    if not _PLAIN.issuperset(kinds):
        strangers = ", ".join(kind.__name__ for kind in kinds if kind not in _PLAIN)
        raise TraceError(
            "NKI-TYPE", f"An instruction is given {strangers}.", remedy="Pass numbers, and nl's operations."
        )
    if tuple in kinds or 0 in values:
        return tuple(map(_exactly, values))
    return values, kinds


def _exactly(value: Any) -> Any:
    if type(value) is tuple:
        return _distinct(cast("tuple[Any, ...]", value))
    return (float, value.hex()) if type(value) is float else (type(value), value)


def _stored(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """A copy, for the text may write to its own later, in the bytes that a format has: booleans are 0 or 1."""
    if array.dtype == np.bool_:
        array = array.view(np.uint8) != 0
    return array.astype(dtypes.numpy_dtype(dtype))


def _plain(value: Any) -> Any:
    return [_plain(item) for item in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value


def _block(shape: Shape, buffer: MemoryRegion) -> tuple[int, int]:
    return (shape[0], math.prod(shape[1:])) if buffer.on_chip else (1, math.prod(shape))


LIVE: Final[ContextVar[Builder]] = ContextVar("nki_anvil.sim.trace")
"""The builder of the trace that runs in this context; unset outside of one."""


def live() -> Builder:
    """The live builder; raises TraceError outside of a trace."""
    try:
        return LIVE.get()
    except LookupError:
        raise TraceError(
            "NKI-OUTSIDE", "An NKI function is called outside of a kernel.", remedy="Call it inside one."
        ) from None
