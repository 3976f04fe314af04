"""Unwritten memory on its way: which instruction reads what nothing has written, and where it must not arrive.

Every tensor has one flag per element, "not written yet"; instructions carry flags from what they read to what they
write. Loop bodies are walked once, and a place that is only known at run time counts as written: what this misses, two
runs with different poison find.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.costs.meetings import meetings
from nki_anvil.sim.coverage import covering
from nki_anvil.sim.instructions import NAMES, TABLE, Instruction
from nki_anvil.sim.kinds import dynamic
from nki_anvil.sim.program import NONE, ROLES, Program
from nki_anvil.sim.rules.races import onto_itself
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation

Flags = NDArray[np.bool_]

_MOVES = frozenset({"dma_copy", "tensor_copy", "nc_transpose", "dma_transpose", "nc_stream_shuffle", "device_print"})
_ALWAYS = {
    "nc_matmul": "matmul",
    "tensor_reduce": "reduction",
    "tensor_partition_reduce": "reduction",
    "activation_reduce": "reduction",
    "tensor_scalar_reduce": "reduction",
    "tensor_tensor_scan": "reduction",
    "tensor_scalar_cumulative": "reduction",
    "bn_stats": "reduction",
    "bn_aggr": "reduction",
    "max8": "reduction",
    "nc_find_index8": "reduction",
    "nc_match_replace8": "reduction",
    "topk": "reduction",
    "register_load": "register",
}
"""Instructions whose result mixes all that they read."""
_BY_PARTITION = frozenset(
    {"tensor_reduce", "activation_reduce", "tensor_scalar_reduce", "tensor_tensor_scan", "tensor_scalar_cumulative"}
    | {"bn_stats", "bn_aggr", "max8"}
)
"""Reductions of each partition by itself: one that nothing has written gives one that nothing has written."""
_GPSIMD_PARTITIONS = 16
"""Partitions of one GpSimd core."""
_BARRIER, _COPY = (NAMES.index(name) for name in ("core_barrier", "dma_copy"))
_COLUMNS = ("opcode", "attributes", "line", "first_operand", "operands")
_WITH_COMMAND = frozenset({"activation", "select_reduce", "range_select"})


class Arrival(NamedTuple):
    """Unwritten data where somebody reads it."""

    where: str
    """``output``, ``reduction``, ``matmul``, ``register`` or ``read``."""
    line: int
    origin: int
    """The line that allocated what nothing wrote."""
    what: str


class _Store:
    """The flags of all tensors; a tensor that is written throughout has none."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rows: dict[str, list[int]] = {k: c.tolist() for k, c in program.tables["accesses"].items()}
        tensors = program.tables["tensors"]
        self.lines: list[int] = tensors["line"].tolist()
        self._units = self._smallest_widths()
        self._sizes: list[int] = (tensors["partitions"] * tensors["elements"]).tolist()
        self._own = [dtypes.size_of(dtypes.NAMES[int(code)]) for code in tensors["dtype"]]
        self.clean: set[int] = set(np.flatnonzero(tensors["role"] != ROLES.index("internal")).tolist())
        self._flags: dict[int, Flags] = {}
        self._left: dict[int, int] = {}
        self.origin: dict[int, int] = {}
        self._covering: list[bool] = covering(program).tolist()
        self._dynamic: list[bool] = dynamic(program).tolist()

    def _smallest_widths(self) -> list[int]:
        """Bytes that one flag stands for: the narrowest format in which a tensor is ever seen."""
        tensors = self.program.tables["tensors"]
        widths = [dtypes.size_of(dtypes.NAMES[int(code)]) for code in tensors["dtype"]]
        for tensor, code in zip(self.rows["tensor"], self.rows["dtype"], strict=True):
            widths[tensor] = min(widths[tensor], dtypes.size_of(dtypes.NAMES[code]))
        return widths

    def dynamic(self, access: int) -> bool:
        return self._dynamic[access]

    def read(self, access: int) -> Flags | None:
        """The flags that an access sees, in its shape; None where all is written."""
        tensor = self.rows["tensor"][access]
        if tensor in self.clean:
            return None
        if self.dynamic(access):
            untouched = tensor not in self._flags
            return np.ones(self.program.shape(access), np.bool_) if untouched else None
        if tensor not in self._flags:
            return np.ones(self.program.shape(access), np.bool_)
        seen: Flags = np.logical_or.reduce(self._view(access), axis=-1)
        return seen if seen.any() else None

    def write(self, access: int, flags: Flags | None) -> None:
        """Give a place the flags of what was written to it."""
        tensor = self.rows["tensor"][access]
        if flags is None and (tensor in self.clean or self.dynamic(access) or self._covering[access]):
            self._settle(tensor)
            return
        if self.dynamic(access):
            return
        if tensor not in self._flags:
            self._open(tensor)
        view = self._view(access)
        before = int(np.count_nonzero(view))
        view[...] = False if flags is None else flags[..., None]
        self._left[tensor] += int(np.count_nonzero(view)) - before
        if self._left[tensor] == 0:
            self._settle(tensor)

    def _settle(self, tensor: int) -> None:
        self.clean.add(tensor)
        self._flags.pop(tensor, None)
        self._left.pop(tensor, None)

    def _open(self, tensor: int) -> None:
        count = self._sizes[tensor] * self._own[tensor] // self._units[tensor]
        written = tensor in self.clean
        self.clean.discard(tensor)
        self._flags[tensor] = np.full(count, not written, np.bool_)
        self._left[tensor] = 0 if written else count

    def _view(self, access: int) -> Flags:
        """The flags of an access in its shape, with one more dimension of the flags of each element."""
        tensor = self.rows["tensor"][access]
        each = dtypes.size_of(dtypes.NAMES[self.rows["dtype"][access]]) // self._units[tensor]
        pattern = self.program.pattern(access)
        shape, steps = [count for _, count in pattern], [step * each for step, _ in pattern]
        return np.ndarray(
            [*shape, each], np.bool_, self._flags[tensor], self.rows["offset"][access] * each, [*steps, 1]
        )


def arrivals(reading: Reading) -> list[Arrival]:
    """Every read of unwritten data, in the order in which instructions come to it: two cores from meeting to meeting.

    Where one core reads what the other writes between the same two meetings, that is a race, which another rule finds.
    """
    program, store = reading.program, _Store(reading.program)
    rows: dict[str, list[int]] = {k: c.tolist() for k, c in program.tables["instructions"].items()}
    operands: list[int] = program.tables["operands"]["access"].tolist()
    found: list[Arrival] = []
    for index in meetings(program, range(len(program))).visits:
        opcode, attributes, line, first, count = (rows[name][index] for name in _COLUMNS)
        if opcode == _BARRIER or (opcode == _COPY and program.cores > 1 and onto_itself(program, index)):
            continue  # they wait, and take nothing
        row = TABLE[NAMES[opcode]]
        slots = operands[first : first + count]
        found += _instruction(store, row, slots, program.attributes[attributes], line)
    return found + _outputs(store)


def _instruction(
    store: _Store, row: Instruction, slots: list[int], attributes: dict[str, Any], line: int
) -> list[Arrival]:
    writes = [a for a in slots[: len(row.writes)] if a != NONE]
    reads = [a for a in slots[len(row.writes) :] if a != NONE]
    found = _indices(store, (*writes, *reads), line)
    unset = {access: flags for access in reads if (flags := store.read(access)) is not None}
    _narrow(row.name, reads, unset)
    if not unset:
        for access in writes:
            store.write(access, None)
        return found
    where = "" if _of_whole_partitions(row.name, unset) else _sink(row.name, attributes)
    origins = {access: _origin(store, access) for access in unset}
    found += [Arrival(where or "read", line, origins[access], row.name) for access in unset]
    for access in writes:
        flags = None if where else _carried(store.program, row.name, unset, access, attributes)
        store.write(access, flags)
        if flags is not None:
            store.origin[store.rows["tensor"][access]] = next(iter(origins.values()))
    return found


def _narrow(name: str, reads: list[int], unset: dict[int, Flags]) -> None:
    """What an instruction really looks at.

    nonzero_with_count answers for each GpSimd core from the first of its partitions alone; a transposing matmul turns
    its stationary operand.
    """
    if name == "nonzero_with_count" and reads[0] in unset:
        seen = unset[reads[0]]
        rows: Flags = np.logical_or.reduce(seen.reshape(len(seen), -1), axis=1)
        rows[np.arange(len(rows)) % _GPSIMD_PARTITIONS != 0] = False
        unset[reads[0]] = rows
        if not rows.any():
            del unset[reads[0]]
    if name == "nc_matmul" and reads[0] in unset:
        flags = unset[reads[0]]
        unset[reads[0]] = flags.reshape(flags.shape[0], -1).T


def _indices(store: _Store, accesses: tuple[int, ...], line: int) -> list[Arrival]:
    """Index tiles of dynamic accesses are read like registers."""
    found: list[Arrival] = []
    for access in accesses:
        for column in ("scalar_access", "vector_access"):
            index = store.rows[column][access]
            if index != NONE and store.read(index) is not None:
                found.append(Arrival("register", line, _origin(store, index), "a dynamic offset"))
    return found


def _origin(store: _Store, access: int) -> int:
    tensor = store.rows["tensor"][access]
    return store.origin.get(tensor, store.lines[tensor])


def _of_whole_partitions(name: str, unset: dict[int, Flags]) -> bool:
    """Whether a reduction meets unwritten data only as whole partitions beside written ones.

    Beta 1's masks leave them so in the last tile of a dimension, and another mask drops their results.
    """
    if name not in _BY_PARTITION:
        return False
    rows = [flags.reshape(len(flags), -1) for flags in unset.values()]
    return all(np.array_equal(r.any(axis=1), r.all(axis=1)) and not r.all() for r in rows)


def _sink(name: str, attributes: dict[str, Any]) -> str:
    """What an instruction is, if unwritten data must not reach it; a matmul that transposes only moves its data."""
    if name == "nc_matmul" and attributes["is_transpose"]:
        return ""
    if name in _WITH_COMMAND:
        return "reduction" if attributes["reduce_cmd"] in ("reduce", "reset_reduce") else ""
    return _ALWAYS.get(name, "")


def _carried(
    program: Program, name: str, unset: dict[int, Flags], target: int, attributes: dict[str, Any]
) -> Flags | None:
    """The flags that a written access takes over."""
    shape = program.shape(target)
    result = np.zeros(shape, np.bool_)
    for flags in unset.values():
        result |= _placed(flags, name, shape, attributes)
    return result


def _placed(flags: Flags, name: str, shape: tuple[int, ...], attributes: dict[str, Any]) -> Flags:
    if name == "nc_transpose":
        flags = flags.reshape(flags.shape[0], -1).T
    elif name == "dma_transpose" and attributes["axes"] and len(attributes["axes"]) == flags.ndim:
        flags = flags.transpose(attributes["axes"])
    size = int(np.prod(shape))
    if flags.size == size:
        return flags.reshape(shape)
    if name in _BY_PARTITION or flags.size == flags.shape[0]:
        rows: Flags = np.logical_or.reduce(flags.reshape(len(flags), -1), axis=1)
        if len(flags) == shape[0]:
            return np.broadcast_to(rows.reshape(shape[0], *(1,) * (len(shape) - 1)), shape)
    return np.full(shape, bool(flags.any()))


def _outputs(store: _Store) -> list[Arrival]:
    accesses = store.program.tables["outputs"]["access"].tolist()
    return [
        Arrival("output", _origin(store, access), _origin(store, access), f"output {position}")
        for position, access in enumerate(accesses)
        if store.read(access) is not None
    ]


_WORDS = {
    "matmul": "{what} reads elements that nothing has written, of the tensor allocated {place}.",
    "reduction": "{what} reduces over elements that nothing has written, of the tensor allocated {place}.",
    "register": "{what} reads a value that nothing has written, of the tensor allocated {place}.",
    "read": "{what} reads elements that nothing has written, of the tensor allocated {place}.",
    "output": "Elements of {what} hold what nothing has written, of the tensor allocated {place}.",
}


def _breaches(where: str, reading: Reading) -> Iterator[Violation]:
    for arrival in reading.cached("arrivals", arrivals):
        if arrival.where == where:
            place = "here" if arrival.line == arrival.origin else f"in line {arrival.origin}"
            yield Violation(arrival.line, _WORDS[where].format(what=arrival.what, place=place))


def _rule(code: str, text: str, severity: str, where: str, remedy: str) -> Rule:
    source = "nki.language.ndarray; NKI Simulator guide, uninitialised memory"
    return Rule(code, text, severity, remedy, source, partial(_breaches, where))


_FILL = "Write the whole tile first (load it, or memset it), or slice the operand to the part that was written."
RULES = (
    _rule("TRN2-INIT-OUTPUT", "Every element of an output is written, with data that was written.", "error", "output",
          "Store every tile, also the partial ones at the edges."),
    _rule("TRN2-INIT-MATMUL", "A matmul reads written data only: one stray NaN spoils a whole row.", "error", "matmul",
          _FILL),
    _rule("TRN2-INIT-REDUCE", "A reduction reads written data only.", "error", "reduction", _FILL),
    _rule("TRN2-INIT-REGISTER", "Registers and dynamic offsets come from written data.", "error", "register", _FILL),
    _rule("TRN2-INIT-READ", "An instruction reads data that nothing has written; harmless only if it is dropped.",
          "warning", "read", _FILL),
)  # fmt: skip
