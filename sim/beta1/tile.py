"""The tensor of Beta 1: a tile on chip with its block dimensions, or a tensor in HBM; and what stands for a result.

A function returns a tile of its own. Where that is assigned at once to a place, as in ``t[i, p, f] = nisa.f(...)``, the
instruction writes to the place itself.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from nki_anvil.sim.array_dtypes import ArrayDType
from nki_anvil.sim.beta1 import access
from nki_anvil.sim.beta1.bounds import Reach, out_of_bounds
from nki_anvil.sim.beta1.operators import Operators
from nki_anvil.sim.beta1.places import declared, same_place
from nki_anvil.sim.beta1.recorder import Recorder
from nki_anvil.sim.dtypes import ARRAY_DTYPES, DType, as_dtype, size_of
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.layout import Shape
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.masks import Box
    from nki_anvil.sim.beta1.storage import Held


class Blocks(NamedTuple):
    """The block dimensions that are not indexed yet: their sizes, and how many tensors lie between two of each."""

    shape: Shape
    steps: Shape


class Part(NamedTuple):
    """A result of which a mask left only a box: the shape that it stands in, and where the box lies in it."""

    shape: Shape
    box: Box


NO_BLOCKS = Blocks((), ())


class Tile(Operators):
    """A tensor as Beta 1 kernels handle it."""

    __slots__ = (
        "__weakref__",
        "blocks",
        "fresh",
        "grown",
        "held",
        "kept",
        "meshed",
        "outside",
        "part",
        "tensor",
        "truth",
    )
    __array_ufunc__ = None

    def __init__(
        self,
        tensor: NkiTensor,
        blocks: Blocks = NO_BLOCKS,
        *,
        fresh: bool = False,
        part: Part | None = None,
        outside: Sequence[Reach] = (),
    ) -> None:
        self.tensor = tensor
        self.blocks = blocks
        self.fresh = fresh
        """Whether it is a result that only its own instruction has touched."""
        self.part = part
        self.kept: Part | None = None
        """The part that a mask left of it, once the full tile is there already."""
        if part is not None:
            self.recorder.parts.append(cast("Any", weakref.ref(self)))
        self.outside = outside
        """Dimensions that the index leaves, which is an error unless a mask cuts it off."""
        self.truth = False
        """Whether it is a comparison's result, of which ``~``, ``&`` and ``|`` are logical."""
        self.meshed = False
        """Whether it was taken by a grid of ``nl.mgrid``, and so indexes nothing."""
        self.held: Held | None = None
        """Of a result that was assigned to a place."""
        self.grown = self.recorder.grown(tensor, fresh=fresh)
        """How often ``+=`` had changed a result when this look at it was taken."""

    # what it is

    @property
    def shape(self) -> Shape:
        return (*self.blocks.shape, *(self.part.shape if self.part else self.tensor.shape))

    @property
    def dtype(self) -> ArrayDType:
        """As the kernel sees it."""
        return ARRAY_DTYPES[self.tensor.dtype]

    @property
    def format(self) -> DType:
        """As the simulator has it."""
        return self.tensor.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return size_of(self.format)

    @property
    def buffer(self) -> MemoryRegion:
        return self.tensor.storage.buffer

    @property
    def name(self) -> str:
        return self.tensor.storage.name

    @property
    def recorder(self) -> Recorder:
        """The trace that it belongs to."""
        return self.tensor.storage.trace

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"Tile({self.shape}, {self.format}, {self.buffer.value}{name})"

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        """True of a tensor in HBM: it is there, and kernels ask ``if bias:`` for it. A tile's truth is refused."""
        if self.tensor.storage.on_chip:
            raise TraceError(
                "NKI-CONTROL", f"A branch, `and`, `or` or `not` asks {self!r} whether it is true.",
                remedy="Join tiles by &, | and ~, select with nl.where, and ask `is not None` for one that may be left"
                " out.",
            )  # fmt: skip
        return True

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(self.shape[0]))

    # its parts

    def __getitem__(self, key: Any) -> Tile:
        return cast("Any", access.indexed(cast("Any", self), key))

    def __setitem__(self, key: Any, value: Any) -> None:
        from nki_anvil.sim.beta1.assignment import assign

        place = cast("Any", access.indexed(cast("Any", self), key))
        assign(place, value)
        if isinstance(value, Tile) and same(place, value):
            self.grown = value.grown

    # its views

    def reshape(self, *sizes: Any, shape: Any = None) -> Tile:
        """The same elements in another shape."""
        return self.seen(Tile(self.whole().reshape(tuple(int(size) for size in _wanted(sizes, shape)))))

    def broadcast_to(self, *sizes: Any, shape: Any = None) -> Tile:
        """Dimensions of size one repeated, the partitions included."""
        from nki_anvil.sim.beta1.broadcasting import broadcast_to

        return cast("Any", broadcast_to(self, _wanted(sizes, shape)))

    def expand_dims(self, axis: int) -> Tile:
        """A dimension of size one more."""
        return self.seen(Tile(self.whole().expanded(axis)))

    def view(self, dtype: Any) -> Tile:
        """The same bytes in another dtype."""
        return self.seen(Tile(self.whole().view(as_dtype(dtype))))

    def astype(self, dtype: Any) -> Tile:
        """A converted copy."""
        from nki_anvil.sim.beta1.elementwise import copy

        return cast("Any", copy(self, dtype=dtype))

    def assert_shape(self, shape: Sequence[int]) -> Tile:
        """The tile itself, which must have the shape."""
        if tuple(shape) != self.shape:
            raise TraceError("NKI-SHAPE", f"{self!r} does not have the shape {tuple(shape)}.", remedy="Reshape it.")
        return self

    def seen(self, view: Tile) -> Tile:
        """A view of it, which holds its value as long as the tile itself does."""
        view.held, view.grown = self.held, self.grown
        return view

    # as an operand

    def whole(self) -> NkiTensor:
        """The one tensor that it is: no block dimensions left, inside of its bounds, and still holding its value."""
        if self.blocks.shape:
            if math.prod(self.blocks.shape) > 1:
                raise TraceError(
                    "NKI-BLOCK",
                    f"{self!r} is used with its block dimensions {self.blocks.shape}.",
                    remedy="Index the dimensions before par_dim: an operation works on one tile.",
                )
            self.blocks = NO_BLOCKS
        if self.outside:
            raise out_of_bounds(self.outside[0])
        if self.part is not None:
            self._fill_part()
        if self.held is not None:
            self.recorder.lend(self.tensor, self.held)
        if self.grown != self.recorder.grown(self.tensor):
            raise outgrown(self.name)
        if self.fresh:
            self._left()
        self.fresh, self.kept = False, None
        return self.tensor

    def _left(self) -> None:
        """An operand is a result that the kernel assigned to no place, so that the compiler has to find one."""
        if self.buffer is MemoryRegion.sbuf:
            self.recorder.by_hand.left(
                self.buffer, f"A result of shape {self.shape} is used without a place of its own"
            )

    def left(self) -> NkiTensor:
        """The part that a mask left of a full tile, which stays a masked result."""
        from nki_anvil.sim.beta1.masks import sliced

        kept = self.kept
        assert kept is not None
        whole, self.kept = self.whole(), kept
        return sliced(whole, kept.box, kept.shape)

    def settle(self) -> None:
        """Give a masked result its full tile in the scope that it was made in, as a loop begins that may use it."""
        if self.part is not None and declared(self.tensor).scope in self.recorder.scopes:
            part = self.part
            self._fill_part()
            self.kept, self.fresh = part, False

    def _fill_part(self) -> None:
        """Give a masked result the full tile that it is part of; the rest of it stays as it is."""
        from nki_anvil.sim.beta1.masks import sliced

        assert self.part is not None
        part, self.part = self.part, None
        full = self.recorder.allocate(part.shape, self.format, self.buffer)
        self.grown = self.recorder.grown(full, fresh=True)
        if part.box.empty:
            self.tensor = full
            return
        box = sliced(full, part.box, part.shape)
        if not self.recorder.redirect(self.tensor, box):
            from nki_anvil.sim.beta1.assignment import move

            move(box, self.tensor)
        self.tensor = full


def _wanted(sizes: tuple[Any, ...], shape: Any) -> Any:
    """The shape that a view is asked for: as numbers, as a tuple, or by name."""
    if (shape is None) != bool(sizes):
        raise TraceError("NKI-ARGUMENT", "A view is given no shape, or two of them.", remedy="Give one, as a tuple.")
    if shape is not None:
        return shape
    return cast("Any", sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)


def outgrown(name: str) -> NotSimulated:
    """What is said of a look at a result that was taken before ``+=`` changed it."""
    return NotSimulated(
        f"A result{f' {name!r}' if name else ''} was changed by += or its like, and a look at it from before is used.",
        remedy="Use what t += x left in t, write t[...] += x, or keep nl.copy(t) from before.",
    )


def same(one: Tile, other: Tile) -> bool:
    """Whether two tiles are one place, as ``t[i] += x`` assigns it to itself."""
    return one.part is None and other.part is None and same_place(one.tensor, other.tensor)
