"""The tensor that a kernel handles: an access pattern over one block of memory. It holds no values and moves none.

Every view shares the block; strides and offsets count elements of the view's own dtype. Semantics follow the stubs of
``nki.language.NkiTensor`` (NKI 0.6).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar, cast

from nki_anvil.sim import layout, versions
from nki_anvil.sim.dtypes import DType, as_dtype, size_of
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion, Storage
from nki_anvil.sim.program import NONE
from nki_anvil.sim.rearrange import rearrange
from nki_anvil.sim.register import VirtualRegister


@dataclass(frozen=True, slots=True, eq=False)
class DynamicSlice:
    """``size`` elements from ``start``, which may be a register."""

    start: Any
    size: int

    def __eq__(self, other: object) -> bool:
        """Raises TraceError: no page says which slices are equal."""
        if other is None:
            return False
        raise TraceError("NKI-CONTROL", "A slice of nl.ds is compared.", remedy="Compare its start and its size.")

    __hash__ = object.__hash__


class Indirect(NamedTuple):
    """The part of an address that only execution knows; access and register are indices, NONE where absent."""

    scalar_access: int = NONE
    scalar_register: int = NONE
    scalar_step: int = 0
    vector_access: int = NONE
    vector_step: int = 0


_WHOLE = slice(None)
_COMPARE: Final = (
    "A condition on data is impossible while tracing: compare into a mask with nisa.tensor_scalar and choose with "
    "nl.where or nisa.tensor_copy_predicated, or loop at execution with nl.while_loop."
)
_DROPPED: Final = -1
_NO_PARTITIONS: Final = (
    "An integer on the partitions of a tile: guides up to NKI 0.4 leave that dimension out, later ones do not.",
    "Write t[i : i + 1, ...].",
)
_FROM_THE_STORAGE: Final = (
    "`.ap()` of a slice: up to NKI 0.4 it counts from the beginning of the tensor, whatever was sliced, and not later.",
    "Call it on the tensor itself, with an offset.",
)
_BY_THE_TENSOR: Final = (
    "`.ap()` of a part, or of a turned view, with an offset that data give: up to NKI 0.4 the offset counts in the"
    " tensor as it lies in memory, whatever was sliced, and not later.",
    "Call it on the tensor itself, or all of it in another shape, and scale the offset: of every second row, 2 * i.",
)

P = ParamSpec("P")
R = TypeVar("R")


def _view(method: Callable[Concatenate[NkiTensor, P], R]) -> Callable[Concatenate[NkiTensor, P], R]:
    """A method that came with NKI 0.5, and says so to kernels for an earlier one."""

    @functools.wraps(method)
    def guarded(self: NkiTensor, *args: P.args, **kwargs: P.kwargs) -> R:
        trace = self.storage.trace
        if not trace.views:
            raise versions.explanation("NkiTensor", method.__name__, trace.version) or AttributeError(method.__name__)
        return method(self, *args, **kwargs)

    return guarded


class NkiTensor:
    """A view of a block in HBM, SBUF or PSUM. On chip the first dimension is the partitions and never disappears."""

    __slots__ = ("access", "dtype", "indirection", "offset", "shape", "storage", "strides")

    def __init__(
        self,
        storage: Storage,
        dtype: DType,
        offset: int,
        shape: Shape,
        strides: Shape,
        indirection: Indirect | None = None,
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.offset = offset
        self.shape = shape
        self.strides = strides
        self.indirection = indirection
        self.access = NONE
        """Its row in the program's accesses, once an instruction has used it."""

    # what it is

    @property
    def name(self) -> str:
        return self.storage.name

    @property
    def buffer(self) -> MemoryRegion:
        return self.storage.buffer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def get_pattern(self) -> list[list[int]]:
        """The access pattern as [step, count] pairs, slowest dimension first."""
        return [[step, count] for step, count in zip(self.strides, self.shape, strict=True)]

    @_view
    def is_contiguous(self) -> bool:
        """Whether the view covers its block without gaps; on chip, per partition."""
        first = 1 if self.storage.on_chip else 0
        return layout.contiguous(self.shape[first:], self.strides[first:])

    @_view
    def is_indirect(self) -> bool:
        """Whether its address is only known at execution."""
        return self.indirection is not None

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"NkiTensor({self.shape}, {self.dtype}, {self.buffer.value}{name})"

    # what it is not

    def __iter__(self) -> Iterator[NkiTensor]:
        raise _control("iterated over", "Loop over range(t.shape[0]) and index.")

    def __bool__(self) -> bool:
        """True: a tensor is there. NKI's own tensors define no truth value, and kernels ask ``if bias:`` for it."""
        return True

    def __len__(self) -> int:
        raise _control("measured with len()", "Read t.shape[0].")

    def __eq__(self, other: object) -> bool:
        """False for what is no tensor, as None; raises TraceError for what nobody knows before execution.

        Nor for tensors: who calls the kernel may give one tensor twice.
        """
        if isinstance(other, (Number, VirtualRegister, NkiTensor)):
            raise _control("compared", _COMPARE)
        return False

    def __hash__(self) -> int:
        raise _control("made a key", "Key by a name or a number: who calls the kernel may give one tensor twice.")

    def __lt__(self, other: object) -> bool:
        raise _control("compared", _COMPARE)

    __gt__ = __le__ = __ge__ = __lt__

    # NumPy's notation

    def __getitem__(self, key: Any) -> NkiTensor:
        """A view by integers, slices, ``nl.ds`` and ellipsis. Raises TraceError for what lies outside."""
        keys: tuple[Any, ...] = cast("tuple[Any, ...]", key) if type(key) is tuple else (key,)
        sliced = self._sliced(keys)
        return self._indexed(keys) if sliced is None else sliced

    def _sliced(self, keys: tuple[Any, ...]) -> NkiTensor | None:
        """The view by slices of plain integers, which is what kernels mostly write; None where more is to be done."""
        if self.indirection is not None or len(keys) > len(self.shape):
            return None
        offset, shape, strides = self.offset, [*self.shape], self.strides
        for axis, item in enumerate(keys):
            if type(item) is not slice or item.step is not None:
                return None
            start, stop = item.start or 0, shape[axis] if item.stop is None else item.stop
            if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= shape[axis]:
                return None
            offset += start * strides[axis]
            shape[axis] = stop - start
        return NkiTensor(self.storage, self.dtype, offset, tuple(shape), strides)

    def _indexed(self, keys: tuple[Any, ...]) -> NkiTensor:
        if any(item is Ellipsis for item in keys):
            keys = _expand(keys, len(self.shape))
        if len(keys) > len(self.shape):
            raise TraceError(
                "NKI-RANK", f"{len(keys)} indices for a tensor of shape {self.shape}.", remedy="Drop the extra ones."
            )
        offset, shape, strides = self.offset, list[int](), list[int]()
        dynamic: tuple[VirtualRegister, int] | None = None
        for axis, item in enumerate(keys):
            start, taken, stride, register = self._pick(axis, item)
            step = self.strides[axis]
            offset += start * step
            if register is not None:
                dynamic = self._one_register(dynamic, register, step)
            if taken == _DROPPED:
                if axis or not self.storage.on_chip:
                    continue
                self._require_views(_NO_PARTITIONS)
                taken = 1
            shape.append(taken)
            strides.append(step * stride)
        rest = len(keys)
        shape += self.shape[rest:]
        strides += self.strides[rest:]
        if len(shape) < 2:
            self._pad(shape, strides)
        return self._view(offset, shape, strides, dynamic=dynamic)

    def _pad(self, shape: list[int], strides: list[int]) -> None:
        while len(shape) < (2 if self.storage.on_chip and self.ndim > 1 else 1):
            shape.append(1)
            strides.append(1)

    def _pick(self, axis: int, item: Any) -> tuple[int, int, int, VirtualRegister | None]:
        """First index, count (or that the dimension goes), step, and the register that is added to the first index."""
        count = self.shape[axis]
        if isinstance(item, slice):
            return (*self._bounds(axis, cast("slice[Any, Any, Any]", item)), None)
        self._not_gathered(axis)
        if isinstance(item, DynamicSlice):
            size = _integer(item.size, "the size of nl.ds")
            if isinstance(item.start, VirtualRegister):
                self._check(axis, 0, size)
                return 0, size, 1, item.start
            start = _integer(item.start, "the start of nl.ds")
            self._check(axis, start, size)
            return start, size, 1, None
        if isinstance(item, VirtualRegister):
            return 0, _DROPPED, 1, item
        index = _integer(item, f"index {axis}")
        if not -count <= index < count:
            raise _outside(f"Index {index} on dimension {axis} of size {count}.")
        return index % count, _DROPPED, 1, None

    def _not_gathered(self, axis: int) -> None:
        if axis == 0 and self.indirection is not None and self.indirection.vector_access != NONE:
            raise TraceError(
                "NKI-INDIRECT", "Dimension 0 is already indexed by a vector.", remedy="Slice before vector_select."
            )

    def _bounds(self, axis: int, item: slice[Any, Any, Any]) -> tuple[int, int, int]:
        count = self.shape[axis]
        if item == _WHOLE:
            return 0, count, 1
        self._not_gathered(axis)
        step = 1 if item.step is None else _integer(item.step, "the step of a slice")
        start = 0 if item.start is None else _integer(item.start, "the start of a slice")
        stop = count if item.stop is None else _integer(item.stop, "the end of a slice")
        start, stop = start + count * (start < 0), stop + count * (stop < 0)
        if step < 1:
            raise TraceError("NKI-BOUNDS", f"A slice steps by {step}.", remedy="Access patterns only walk forwards.")
        self._check(axis, start, stop - start)
        return start, -((start - stop) // step), step

    def _check(self, axis: int, start: int, size: int) -> None:
        if start < 0 or size < 0 or start + size > self.shape[axis]:
            raise _outside(f"[{start}:{start + size}] on dimension {axis} of size {self.shape[axis]} of {self!r}.")

    def _one_register(
        self, dynamic: tuple[VirtualRegister, int] | None, register: VirtualRegister, step: int
    ) -> tuple[VirtualRegister, int]:
        if dynamic is not None or self.indirection is not None:
            raise _twice()
        return register, step

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copy a tile, or fill with a number, by the instruction that fits the two memories."""
        from nki_anvil.sim.isa.movement import assign  # isa is made of tensors

        assign(cast("Any", self[key]), value)

    # one dimension at a time

    @_view
    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """Elements ``start`` to ``end`` of one dimension."""
        return self[(*(_WHOLE,) * self._axis(dim), slice(start, end, step))]

    @_view
    def select(self, dim: int, index: Any) -> NkiTensor:
        """One element of a dimension, which disappears; a tensor or register as index is read at execution."""
        axis = self._axis(dim)
        if not isinstance(index, NkiTensor):
            return self[(*(_WHOLE,) * axis, index)]
        if self.indirection is not None:
            raise _twice()
        self._keep_first(axis, "select by value")
        self._scalar_index(index)
        step = Indirect(scalar_access=self.storage.trace.access(index), scalar_step=self.strides[axis])
        shape, strides = list(self.shape), list(self.strides)
        del shape[axis], strides[axis]
        self._pad(shape, strides)
        return self._view(self.offset, shape, strides, indirection=step)

    @_view
    def vector_select(self, dim: int, vector_offset: NkiTensor) -> NkiTensor:
        """One row of dimension 0 per value of a [P, 1] tile, chosen at execution."""
        if dim != 0 or self.storage.on_chip:
            raise TraceError(
                "NKI-INDIRECT",
                "vector_select needs dimension 0 of a tensor in HBM.",
                remedy="Use nisa.nc_n_gather on chip.",
            )
        if self.indirection is not None:
            raise _twice()
        if self.dtype != self.storage.dtype:
            raise TraceError(
                "NKI-INDIRECT", f"vector_select of {self!r}, which is a view of {self.storage.dtype}: NKI does not"
                " support both.", remedy="Gather in the tensor's own dtype, and reinterpret the tile.",
            )  # fmt: skip
        self._check_rows()
        rows = Indirect(vector_access=self.storage.trace.access(_tile(vector_offset)), vector_step=self.strides[0])
        return self._view(self.offset, (vector_offset.shape[0], *self.shape[1:]), self.strides, indirection=rows)

    @_view
    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """Repeat a dimension of size one."""
        return self.repeated(dim, size)

    def repeated(self, dim: int, size: int) -> NkiTensor:
        """``broadcast`` as nl's functions use it in every version."""
        axis = self._axis(dim)
        self._keep_first(axis, "broadcast")
        if self.shape[axis] != 1:
            raise TraceError(
                "NKI-SHAPE", f"Dimension {dim} of {self.shape} is not 1.", remedy="Only size one can be repeated."
            )
        return self._with(axis, 1, (size,), (0,))

    @_view
    def expand_dim(self, dim: int) -> NkiTensor:
        """Insert a dimension of size one."""
        return self.expanded(dim)

    def expanded(self, dim: int) -> NkiTensor:
        """``expand_dim`` as nl's functions use it in every version."""
        axis = dim % (self.ndim + 1)
        self._keep_first(axis, "expand_dim")
        return self._with(axis, 0, (1,), (1,))

    @_view
    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Remove a dimension of size one."""
        axis = self._axis(dim)
        self._keep_first(axis, "squeeze_dim")
        if self.shape[axis] != 1:
            raise TraceError(
                "NKI-SHAPE", f"Dimension {dim} of {self.shape} is not 1.", remedy="Select an index instead."
            )
        return self._with(axis, 1, (), ())

    @_view
    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """Split one dimension; one entry may be -1."""
        axis = self._axis(dim)
        wanted = self._infer(self.shape[axis], shape)
        if wanted == (self.shape[axis],):
            return self
        self._keep_first(axis, "reshape_dim")
        steps = tuple(self.strides[axis] * step for step in layout.row_major(wanted))
        return self._with(axis, 1, wanted, steps)

    @_view
    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """Merge dimensions ``start_dim`` to ``end_dim``, both included."""
        first, last = self._axis(start_dim), self._axis(end_dim)
        if first == last:
            return self
        self._keep_first(first, "flatten_dims")
        merged = self.shape[first : last + 1]
        wanted = (math.prod(merged),)
        steps = layout.reshape(merged, self.strides[first : last + 1], wanted)
        if steps is None:
            raise self._needs_copy(wanted)
        return self._with(first, last + 1 - first, wanted, steps)

    # all dimensions at once

    @_view
    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """Reorder the dimensions."""
        if sorted(dims) != list(range(self.ndim)):
            raise TraceError(
                "NKI-RANK", f"{tuple(dims)} is no order of {self.ndim} dimensions.", remedy="Name each once."
            )
        if dims[0] != 0:
            self._keep_first(0, "permute")
        return self._view(self.offset, [self.shape[d] for d in dims], [self.strides[d] for d in dims])

    def reshape(self, shape: Sequence[int] | None = None, *, new_shape: Sequence[int] | None = None) -> NkiTensor:
        """The same elements in another shape, without a copy; one entry may be -1. NKI 0.4 called it ``new_shape``."""
        shape = new_shape if shape is None and versions.release(self.storage.trace.version) == (0, 4) else shape
        if shape is None:
            raise TraceError("NKI-TYPE", "reshape() without shape=.", remedy="Give the lengths of its dimensions.")
        wanted = self._infer(self.size, shape)
        kept = 1 if self._first_is_fixed() else 0
        if kept and wanted[0] != self.shape[0]:
            self._keep_first(0, "reshape")
        steps = layout.reshape(self.shape[kept:], self.strides[kept:], wanted[kept:])
        if steps is None:
            raise self._needs_copy(wanted)
        return self._view(self.offset, wanted, (*self.strides[:kept], *steps))

    @_view
    def rearrange(
        self, src_pattern: Sequence[Any], dst_pattern: Sequence[Any], fixed_sizes: Mapping[str, int] | None = None
    ) -> NkiTensor:
        """Split, reorder and merge by name, as in einops."""
        return cast("Any", rearrange(cast("Any", self), src_pattern, dst_pattern, fixed_sizes or {}))

    def view(self, dtype: Any) -> NkiTensor:
        """The same bytes in another dtype; the last dimension shrinks or grows."""
        wanted = _dtype(dtype)
        if self.indirection is not None:
            raise TraceError("NKI-INDIRECT", "view() after a dynamic select.", remedy="Reinterpret first.")
        old, new = size_of(self.dtype), size_of(wanted)
        if old != new and (self.strides[-1] != 1 or self.ndim < 1):
            raise TraceError("NKI-LAYOUT", "view() needs a contiguous last dimension.", remedy="Copy the tile first.")
        *steps, last, offset = self._counted_in(wanted, *self.strides[:-1], self.shape[-1], self.offset)
        return NkiTensor(self.storage, wanted, offset, (*self.shape[:-1], last), (*steps, self.strides[-1]))

    reinterpret_cast = view

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: NkiTensor | None = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """An explicit pattern of [step, count] pairs over the block, counted from this view's own offset.

        One that lies outside is refused by the first instruction that it is given to: kernels make patterns one tile
        too far and then leave the instruction out.
        """
        if self.offset:
            self._require_views(_FROM_THE_STORAGE)
        wanted = self.dtype if dtype is None else _dtype(dtype)
        (begun,) = self._counted_in(wanted, self.offset)
        start = begun + (0 if offset is None else _integer(offset, "offset"))
        pairs = [tuple(_integer(value, "the pattern") for value in pair) for pair in pattern]
        if not pairs or any(len(pair) != 2 or pair[1] < 1 for pair in pairs):
            raise TraceError(
                "NKI-RANK", f"{pattern} is no list of [step, count] pairs.", remedy="Give one pair per dimension."
            )
        indirect = scalar_offset is not None or vector_offset is not None
        if indirect and not self._is_the_tensor():
            self._require_views(_BY_THE_TENSOR)
        (step,) = self._counted_in(wanted, self.strides[indirect_dim] if indirect else 0)
        indirection = self._indirection(scalar_offset, vector_offset, indirect_dim, step)
        view = NkiTensor(self.storage, wanted, start, *self._normal(pairs, wanted), indirection)
        if indirection is None:
            view.check_layout()
            self.storage.strayed |= not view.is_inside()
        return view

    def indirect(self, index: NkiTensor, num_elem: int | None = None) -> NkiTensor:
        """Tensor indirection, which begins with NeuronCore-v4."""
        raise NotSimulated("NkiTensor.indirect() needs NeuronCore-v4.", remedy="Gather with nisa.nc_n_gather.")

    # what the views are made of

    def _counted_in(self, dtype: DType, *elements: int) -> list[int]:
        """Steps, lengths and offsets in elements of another dtype; raises TraceError where they are not whole."""
        bytes_, size = [value * size_of(self.dtype) for value in elements], size_of(dtype)
        if any(value % size for value in bytes_):
            raise TraceError(
                "NKI-SHAPE", f"{self!r} does not divide into elements of {dtype}.", remedy="Align the view."
            )
        return [value // size for value in bytes_]

    def _require_views(self, why: tuple[str, str]) -> None:
        """Raises TraceError before NKI 0.5, whose pages are the first to say what later ones say."""
        if not self.storage.trace.views:
            raise TraceError("NKI-INDEXING", why[0], remedy=why[1])

    def _is_the_tensor(self) -> bool:
        """Whether it is all of its block as it lies there, in whatever shape and dtype."""
        whole = self.storage.partitions * self.storage.row(self.dtype)
        return self.offset == 0 and self.size == whole and self.strides == layout.row_major(self.shape)

    def check_layout(self) -> None:
        """Raise TraceError where on chip the first pair does not walk whole partitions."""
        row = self.storage.row(self.dtype)
        if self.storage.on_chip and self.strides[0] % row:
            raise TraceError(
                "NKI-LAYOUT",
                f"The first step {self.strides[0]} is no multiple of the {row} elements of a partition.",
                remedy="On chip the first pair walks the partitions: its step is the elements per partition.",
            )

    def check_inside(self) -> None:
        """Raise TraceError where the pattern leaves its block, or on chip its partitions."""
        if self.storage.strayed and self.indirection is None and not self.is_inside():
            size = f"{self.storage.partitions} x {self.storage.row(self.dtype)}"
            raise _outside(f"Pattern {self.get_pattern()} at {self.offset} leaves the {size} elements of {self!r}.")

    def is_inside(self) -> bool:
        """Whether the pattern stays in its block, and on chip in its partitions."""
        storage, row = self.storage, self.storage.row(self.dtype)
        if self.offset < 0 or any(step < 0 for step in self.strides):
            return False
        if not storage.on_chip:
            return self.offset + layout.extent(self.shape, self.strides) <= storage.partitions * row
        partition, free = divmod(self.offset, row)
        last = partition + (self.shape[0] - 1) * (self.strides[0] // row)
        return last < storage.partitions and free + layout.extent(self.shape[1:], self.strides[1:]) <= row

    def _normal(self, pairs: Sequence[tuple[int, ...]], dtype: DType) -> tuple[Shape, Shape]:
        """Shape and strides; where the partition is not walked its step does not matter."""
        shape, strides = tuple(pair[1] for pair in pairs), [pair[0] for pair in pairs]
        if self.storage.on_chip and shape[0] == 1:
            strides[0] = self.storage.row(dtype)
        return shape, tuple(strides)

    def _indirection(self, scalar: Any, vector: Any, dim: int, step: int) -> Indirect | None:
        if scalar is None and vector is None:
            if self.indirection is None:
                return None
            raise TraceError(
                "NKI-INDIRECT",
                "ap() of a view that data moves names no offset of its own, and replaces the pattern that had one.",
                remedy="Give the outer ap() the scalar_offset or vector_offset, or slice the tensor before.",
            )
        if self.indirection is not None or (scalar is not None and vector is not None):
            raise _twice()
        if scalar is not None and self.storage.on_chip and dim % self.ndim == 0:
            raise TraceError(
                "NKI-INDIRECT",
                f"A scalar_offset moves {self!r}, which is on chip, over its partitions.",
                remedy="Say indirect_dim= of a free dimension, as nothing selects a partition at run time; or move over"
                " a tensor in HBM.",
            )
        if isinstance(scalar, VirtualRegister):
            if scalar.frozen and versions.release(self.storage.trace.version) == (0, 3):
                raise TraceError(
                    "NKI-VERSION",
                    "The index of nl.dynamic_range is no register in NKI 0.3, and cannot be a scalar_offset.",
                    remedy="Count in a register of your own, or loop with nl.affine_range.",
                )
            return Indirect(scalar_register=scalar.index, scalar_step=step)
        if scalar is not None:
            return Indirect(scalar_access=self.storage.trace.access(self._scalar_index(scalar)), scalar_step=step)
        if dim != 0 or self.storage.on_chip:
            raise TraceError(
                "NKI-INDIRECT",
                "vector_offset needs indirect_dim=0 of a tensor in HBM.",
                remedy="Use nisa.nc_n_gather on chip.",
            )
        self._check_rows()
        return Indirect(vector_access=self.storage.trace.access(_tile(vector)), vector_step=step)

    def _check_rows(self) -> None:
        """Raise TraceError where an index would count other rows than those that lie in memory."""
        old, new = size_of(self.storage.dtype), size_of(self.dtype)
        step, within = self.strides[0] * new, layout.extent(self.shape[1:], self.strides[1:]) * new
        rows = [size * old for size in self.storage.steps]
        turned = self.shape[0] > 1 and step < within
        stepped = self.shape[0] > 1 and step not in rows
        stepped = stepped and any(within <= row < step and step % row == 0 for row in rows[:-1])
        if turned or stepped:
            raise TraceError(
                "NKI-INDIRECT",
                f"An index tile counts rows of the tensor in memory; {self!r} is {'turned' if turned else 'stepped'}.",
                remedy="Index the tensor itself, and step or scale the indices instead.",
            )

    def _scalar_index(self, index: Any) -> NkiTensor:
        tile = _tile(index)
        if tile.size != 1:
            raise TraceError(
                "NKI-SHAPE", f"A scalar offset has shape {tile.shape}.", remedy="Give one element, [1, 1]."
            )
        return tile

    def _view(
        self,
        offset: int,
        shape: Sequence[int],
        strides: Sequence[int],
        *,
        dynamic: tuple[VirtualRegister, int] | None = None,
        indirection: Indirect | None = None,
    ) -> NkiTensor:
        if dynamic is not None:
            indirection = Indirect(scalar_register=dynamic[0].index, scalar_step=dynamic[1])
        return NkiTensor(
            self.storage, self.dtype, offset, tuple(shape), tuple(strides), indirection or self.indirection
        )

    def _with(self, axis: int, removed: int, shape: Shape, strides: Shape) -> NkiTensor:
        end = axis + removed
        new_shape, new_strides = (
            [*self.shape[:axis], *shape, *self.shape[end:]],
            [*self.strides[:axis], *strides, *self.strides[end:]],
        )
        self._pad(new_shape, new_strides)
        return self._view(self.offset, new_shape, new_strides)

    def _axis(self, dim: int) -> int:
        if not -self.ndim <= dim < self.ndim:
            raise TraceError("NKI-RANK", f"There is no dimension {dim} in {self.shape}.", remedy="Count from 0.")
        return dim % self.ndim

    def _first_is_fixed(self) -> bool:
        return self.storage.on_chip or (self.indirection is not None and self.indirection.vector_access != NONE)

    def _keep_first(self, axis: int, what: str) -> None:
        if axis == 0 and self._first_is_fixed():
            raise TraceError(
                "NKI-LAYOUT",
                f"{what} cannot touch dimension 0 of {self!r}: it is the partitions.",
                remedy="Move data across partitions with nisa.nc_transpose or a DMA.",
            )

    def _infer(self, total: int, shape: Sequence[int]) -> Shape:
        try:
            return layout.infer(total, [_integer(count, "a shape") for count in shape])
        except ValueError as error:
            raise TraceError("NKI-SHAPE", f"{error}.", remedy="The number of elements must stay.") from error

    def _needs_copy(self, wanted: Shape) -> TraceError:
        return TraceError(
            "NKI-LAYOUT",
            f"{self!r} with strides {self.strides} has no view of shape {wanted}.",
            remedy="Copy the tile first.",
        )


def _expand(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    position = next(i for i, item in enumerate(keys) if item is Ellipsis)
    rest = keys[position + 1 :]
    if any(item is Ellipsis for item in rest):
        raise TraceError("NKI-RANK", "An index has two ellipses.", remedy="Keep one.")
    return (*keys[:position], *(_WHOLE,) * (rank - len(keys) + 1), *rest)


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise TraceError(
            "NKI-TYPE", f"{what} is {_describe(value)}, not an integer.", remedy=_index_remedy(value)
        ) from error


def _index_remedy(value: Any) -> str:
    if isinstance(value, NkiTensor):
        return "Index by data with .ap(vector_offset=...), .vector_select or .select."
    if value is None:
        return "Insert dimensions with .expand_dim."
    return "Use integers, slices and nl.ds."


def _describe(value: Any) -> str:
    return (
        repr(value) if isinstance(value, (NkiTensor, int, float, str)) or value is None else f"a {type(value).__name__}"
    )


def _tile(value: Any) -> NkiTensor:
    if not isinstance(value, NkiTensor):
        raise TraceError("NKI-TYPE", f"An offset is {_describe(value)}.", remedy="Give a tile in SBUF.")
    return value


def _dtype(dtype: Any) -> DType:
    try:
        return as_dtype(dtype)
    except (KeyError, TypeError) as error:
        raise TraceError(
            "NKI-DTYPE", f"{dtype!r} is no format of this chip.", remedy="Use nl.float32, nl.bfloat16 ..."
        ) from error


def _outside(message: str) -> TraceError:
    return TraceError("NKI-BOUNDS", message, remedy="Clamp the last tile with min(), as slices are not clamped.")


def _twice() -> TraceError:
    return TraceError("NKI-INDIRECT", "A view has two dynamic offsets.", remedy="One per view: copy in between.")


def _control(how: str, remedy: str) -> TraceError:
    return TraceError("NKI-CONTROL", f"A tensor is {how}.", remedy=remedy)
