"""Which inputs a reference adds to, or multiplies with, one another before anything else happens to them.

Found in float64: where the output depends on x + c z alone, its derivatives by x and by z are one vector times 1 and c.
What combines so can cancel, or come to one value throughout, which no draw of each input by itself shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker.relations import FACTORS, spread

Array = np.ndarray[Any, Any]
Exact = Callable[[dict[str, Any]], list[Array]]
Place = tuple[int, ...]

STEP: Final = 1e-4
"""Of the difference quotients, beside the largest of an input."""
PARALLEL, SAME = 1e-4, 1e-3
"""Largest relative error of a derivative beside the other one, and of a factor."""
SHARES: Final = (0.3, 0.55, 0.8)
"""Where along each axis the places are that are asked."""


def combined(exact: Exact, drawn: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, str]]:
    """Pairs of arrays of floats that are added or multiplied: ``{"large", "small", "how", "factor"}``.

    The factor of a sum is that of the small one, as families know it (``relations.FACTORS``); empty where it is one.
    """
    asked = _Derivatives(exact, drawn)
    found: list[dict[str, str]] = []
    for large, small in _pairs(drawn, names):
        factors = [asked.factor(large, small, share) for share in SHARES]
        if not all(map(np.isfinite, factors)):
            continue
        how = _explained(drawn, names, (large, small), factors)
        found += [{"large": large, "small": small} | how] if how else []
    return found


def _pairs(drawn: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for position, large in enumerate(names):
        for other, small in enumerate(names):
            same = drawn[small].shape == drawn[large].shape and drawn[large].size > 1
            if (same and other > position) or spread(drawn[small].shape, drawn[large].shape):
                yield large, small


def _explained(
    drawn: Mapping[str, Any], names: Sequence[str], pair: tuple[str, str], factors: Sequence[float]
) -> dict[str, str] | None:
    """What the factors at all places are: one number, another input, or (of a product) the one over the other."""
    large, small = pair
    places = [_place(drawn[large].shape, share) for share in SHARES]

    def at(name: str) -> list[float]:
        shape = drawn[large].shape
        return [float(drawn[name][_below(drawn[name].shape, shape, place)]) for place in places]

    if _same(factors, [factors[0]] * len(factors)):
        return {"how": "sum", "factor": "" if _same(np.abs(factors), 1) else f":{factors[0]:.6g}"}
    if _same(factors, np.divide(at(large), at(small))):
        return {"how": "product", "factor": ""}
    for name in names:
        if name not in pair and _below(drawn[name].shape, drawn[large].shape, places[0]) is not None:
            for known, make in FACTORS.items():
                with np.errstate(all="ignore"):
                    times = np.divide(factors, make(np.array(at(name))))
                if np.isfinite(times).all() and _same(times, times[0]):
                    return {"how": "sum", "factor": f":{known}:{name}:{times[0]:.6g}"}
    return None


def _same(found: Any, known: Any) -> bool:
    return bool(np.allclose(found, known, rtol=SAME, atol=0))


def _place(shape: Sequence[int], share: float) -> Place:
    return tuple(int(n * share) for n in shape)


def _below(small: Sequence[int], large: Sequence[int], place: Place) -> Place | None:
    """Which element of an input meets a place of a larger one; None where it does not spread over it."""
    shape = tuple(small) if tuple(small) == tuple(large) else spread(small, large)
    if shape is None:
        return None
    met = [0 if n == 1 else at for n, at in zip(reversed(shape), reversed(place), strict=False)][::-1]
    flat = int(np.ravel_multi_index(tuple(met), shape))
    return tuple(int(n) for n in np.unravel_index(flat, tuple(small)))


class _Derivatives:
    """Of all outputs by single elements, each found once."""

    def __init__(self, exact: Exact, drawn: Mapping[str, Any]) -> None:
        self.exact, self.drawn = exact, dict(drawn)
        self.known: dict[tuple[str, Place], Array] = {}

    def factor(self, large: str, small: str, share: float) -> float:
        """How many times as much the small one counts there as the large one; not finite where they differ in more."""
        shape = self.drawn[large].shape
        place = _place(shape, share)
        below = _below(self.drawn[small].shape, shape, place)
        one, other = self.by(large, place), self.by(small, below or ())
        reached = np.abs(one) > 1e-9 * np.abs(one).max(initial=0.0)
        one, other = one[reached], other[reached]
        if not one.size or not np.isfinite(one).all() or not np.isfinite(other).all():
            return np.nan
        factor = float(one @ other / (one @ one))
        apart = np.linalg.norm(other - factor * one)
        return factor if factor and apart <= PARALLEL * np.linalg.norm(other) else np.nan

    def by(self, name: str, place: Place) -> Array:
        if (name, place) not in self.known:
            step = STEP * float(np.abs(self.drawn[name].astype(np.float64)).max(initial=0.0)) or STEP
            above, under = (self._moved(name, place, by) for by in (step, -step))
            self.known[name, place] = (above - under) / (2 * step)
        return self.known[name, place]

    def _moved(self, name: str, place: Place, by: float) -> Array:
        changed = self.drawn[name].astype(np.float64)
        changed[place] += by
        with np.errstate(all="ignore"):
            outputs = self.exact({**self.drawn, name: changed})
        return np.concatenate([np.asarray(o, np.float64).ravel() for o in outputs])
