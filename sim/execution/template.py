"""Instructions that differ only in where their operands lie share one template of steps, bound to each one's storage.

A definition runs once per kind of instruction, on stand-ins for its operands; the views it took of them are found again
by their addresses. Unrolled loops have thousands of instructions and a handful of kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.bench import Bench, Step
from nki_anvil.sim.execution.choices import Choices, Here
from nki_anvil.sim.execution.untold import Extreme

Array = NDArray[Any]
Place: TypeAlias = tuple[NDArray[np.uint8], int]
"""A block of storage and the byte in it where an operand begins."""
Hole: TypeAlias = tuple[int | str, int]
"""Where a view belongs in a step: the position or the name of an argument; FUNCTION for whose method is called."""

FUNCTION = -1
INDEX = -1
"""In place of a view: which instruction it is."""
_PLAIN = (int, float, str, type(None), np.generic, np.dtype, type, np.ufunc, Bench, Choices, Extreme, type(np.copyto))


@dataclass(frozen=True, slots=True)
class _View:
    """A view of an operand: ``start`` bytes after its first element."""

    slot: int
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool


@dataclass(frozen=True, slots=True)
class _Blank:
    """A step with holes."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    holes: list[Hole]

    def filled(self, views: list[Array], index: int) -> Step:
        function, arguments, options = self.function, list(self.arguments), self.options
        for where, number in self.holes:
            view = index if number == INDEX else views[number]
            if where == FUNCTION:
                function = getattr(view, function.__name__)
            elif isinstance(where, int):
                arguments[where] = view
            else:
                options = {**options, where: view}
        return partial(function, *arguments, **options)


@dataclass(frozen=True, slots=True)
class Template:
    """The steps of one kind of instruction."""

    views: list[_View]
    steps: list[_Blank]

    def bind(self, places: list[Place], index: int = 0) -> list[Step]:
        """The steps of an instruction whose operands lie at these places, one for each slot."""
        views: list[Array] = []
        for view in self.views:
            block, start = places[view.slot]
            bound: Array = np.ndarray(view.shape, view.dtype, block, start + view.start, view.strides)
            bound.flags.writeable = view.writeable
            views.append(bound)
        return [step.filled(views, index) for step in self.steps]


class StandIns:
    """What a template's steps were made with in place of operands; each lies in memory of its own."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int, int, int]] = []
        self._memory: list[Array] = []

    def take(self, slot: int, view: Array) -> Array:
        """An array like the operand in a slot; nobody has touched its memory, so that it costs none."""
        spans = [step * (count - 1) for step, count in zip(view.strides, view.shape, strict=True)]
        before, after = -sum(min(span, 0) for span in spans), sum(max(span, 0) for span in spans)
        memory = np.empty(before + after + view.itemsize, np.uint8)
        first = _address(memory)
        self._places.append((slot, first, first + memory.nbytes, first + before))
        self._memory.append(memory)
        return np.ndarray(view.shape, view.dtype, memory, before, view.strides)

    def template(self, steps: list[Step]) -> Template | None:
        """The steps with holes for views of stand-ins; None where one holds a stand-in in a way not understood."""
        views: dict[_View, int] = {}
        blanks = [self._blank(step, views) for step in steps]
        known = [blank for blank in blanks if blank is not None]
        return Template(list(views), known) if len(known) == len(blanks) else None

    def _blank(self, step: Step, views: dict[_View, int]) -> _Blank | None:
        if not isinstance(step, partial):
            return None
        given: list[tuple[int | str, Any]] = [*enumerate(step.args), *step.keywords.items()]
        owner = getattr(step.func, "__self__", None)
        held: list[tuple[int | str, Any]] = [(FUNCTION, owner)] if isinstance(owner, np.ndarray) else []
        holes: list[Hole] = []
        for where, value in [*held, *given]:
            view = self._view(value)
            if isinstance(value, Here):
                holes.append((where, INDEX))
            elif view is not None:
                holes.append((where, views.setdefault(view, len(views))))
            elif not self._harmless(value):
                return None
        if not held and not self._harmless(step.func):
            return None
        return _Blank(step.func, step.args, step.keywords, holes)

    def _view(self, value: Any) -> _View | None:
        if not isinstance(value, np.ndarray):
            return None
        array = cast("Array", value)
        address = _address(array)
        for slot, first, last, begin in self._places:
            if first <= address < last:
                return _View(slot, address - begin, array.shape, array.strides, array.dtype, array.flags.writeable)
        return None

    def _harmless(self, value: Any) -> bool:
        """Whether a value certainly holds no stand-in."""
        if isinstance(value, np.ndarray):
            return self._view(value) is None
        if isinstance(value, _PLAIN):
            return True
        inner = _inside(value)
        return inner is not None and all(map(self._harmless, inner))


def _inside(value: Any) -> list[Any] | None:
    """What a value holds; None where that is not known."""
    if isinstance(value, (list, tuple)):
        return list(cast("list[Any]", value))
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, FunctionType):
        return [*(cell.cell_contents for cell in value.__closure__ or ()), *(value.__defaults__ or ())]
    if isinstance(value, (BuiltinFunctionType, MethodType)):
        owner = value.__self__
        return [] if type(owner).__name__ == "module" else [owner]
    return None


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]
