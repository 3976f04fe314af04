"""Inputs of which little of an output is left, as training leaves them: all floats together, however many there are.

A loss that is nearly nothing, clusters that a graph or a softmax tells, prototypes that fit: what others share has to
fit for that, and no element, row or unit does it alone. So all floats descend along the gradient of all outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Floats = dict[str, Array]

WAYS: Final = 4
"""All outputs become little as a whole, or each of their elements; inputs stay as large as they were, or may grow."""
CASES: Final = 2
"""Of each way that leads to little: one that goes far, one that does not."""
STEP: Final = 0.2
"""Of an input's typical number, what each of its numbers moves in the first steps."""
LEAST: Final = 1e-4
"""The same in the last steps, of the first ones."""
GROWN: Final = 16.0
"""How much larger an input may become."""
LEFT: Final = ((-4.5, -2.6), (-2.6, -0.7))
"""Powers of ten of what a descent leaves, by case."""
LITTLE: Final = 0.2
"""Of what outputs were, what is little of them."""
NOTHING: Final = 1e-9
"""Of a typical output, what an element may be beside it and not count as less."""
SECONDS: Final = 0.75
"""For a descent, of its own thread."""
SOON, STUCK = 0.125, 0.8
"""In each so many seconds there has to come to be so much less of the outputs: else there is no way."""
KEEPS: Final = (0.9, 0.99)
"""How much a mean of gradients, and of their squares, keeps from step to step, as Adam has it."""


class Slope(NamedTuple):
    """A reference as descents ask it: outputs in float64, and the gradient of a number that is made of them."""

    outputs: Callable[[Floats], Sequence[Array]]
    gradient: Callable[[Callable[[Sequence[Any]], Any], Floats], Floats]
    inside: Callable[[Floats], Floats]
    """What the problem's domains make of numbers."""
    log: Callable[[Any], Any]
    """That of what a gradient goes through."""


def turns(slope: Slope, floats: Floats) -> Iterator[int]:
    """Cases of the ways on which a descent of an own draw leaves little of the outputs."""
    for way in range(WAYS):
        if _descended(slope, floats, way, LITTLE) is not None:
            yield from range(way, CASES * WAYS, WAYS)


def searched(slope: Slope, floats: Floats, turn: int, random: Any) -> Floats:
    """What a descent has come to where as much is left as a lot says; nothing where it leaves more than a little."""
    return _descended(slope, floats, turn % WAYS, 10.0 ** random.uniform(*LEFT[turn // WAYS])) or {}


def _descended(slope: Slope, floats: Floats, way: int, left: float) -> Floats | None:
    start = time.thread_time()
    begun = slope.outputs(floats)
    typical = [_size(output) for output in begun]
    if not all(np.isfinite(size) and size > 0 for size in typical):
        return None
    result = _Result(typical, each=way % 2 == 1)
    steps = _Steps(floats, GROWN if way // 2 else 1.0)
    first, share, spent, now = result.measure(begun), 1.0, 0.0, floats
    while share > left and share <= STUCK ** (int(spent / SOON)) and spent < SECONDS:
        gradient = slope.gradient(lambda outputs: result.of(outputs, slope.log), now)
        now = slope.inside(steps.taken(now, gradient, max(LEAST, min(1.0, share) ** 0.5)))
        share, spent = result.measure(slope.outputs(now)) / first, time.thread_time() - start
    return now if share <= LITTLE else None


class _Steps:
    """Adam's, of which each input stays as large as it was, for else all would come to nothing, or grows at most."""

    def __init__(self, floats: Floats, grown: float) -> None:
        self._sizes = {name: _size(item) for name, item in floats.items()}
        self._means = {name: np.zeros(item.shape) for name, item in floats.items()}
        self._squares = {name: np.zeros(item.shape) for name, item in floats.items()}
        self._grown, self._count = grown, 0

    def taken(self, now: Floats, gradient: Floats, pace: float) -> Floats:
        self._count += 1
        return {name: self._one(name, item, gradient[name], pace) for name, item in now.items()}

    def _one(self, name: str, item: Array, gradient: Array, pace: float) -> Array:
        steep = np.where(np.isfinite(gradient), gradient, 0.0)
        self._means[name] = KEEPS[0] * self._means[name] + (1 - KEEPS[0]) * steep
        self._squares[name] = KEEPS[1] * self._squares[name] + (1 - KEEPS[1]) * steep * steep
        mean = self._means[name] / (1 - KEEPS[0] ** self._count)
        square = self._squares[name] / (1 - KEEPS[1] ** self._count)
        own = self._sizes[name]
        moved = item - STEP * pace * own * mean / (np.sqrt(square) + 1e-300)
        size = max(_size(moved), 1e-300)
        return moved * (min(max(size, own), self._grown * own) / size)


class _Result:
    """What a descent makes less of: the size of all outputs as a whole, or of each of their elements."""

    def __init__(self, typical: Sequence[float], each: bool) -> None:
        self._typical, self._each = typical, each

    def of(self, outputs: Sequence[Any], log: Callable[[Any], Any]) -> Any:
        """The mean logarithm of their squares."""
        total = 0.0
        for output, typical in zip(outputs, self._typical, strict=True):
            square = (output / typical) ** 2 if self._each else ((output / typical) ** 2).mean()
            total = total + log(square + NOTHING**2).mean()
        return total / len(self._typical)

    def measure(self, outputs: Sequence[Array]) -> float:
        return float(np.exp(0.5 * self.of(outputs, np.log)))


def _size(item: Array) -> float:
    return float(np.sqrt(np.square(item).mean())) if item.size else 0.0
