"""What ``transform_to_nki_inputs`` makes of the reference's arguments: the same, other shapes of them, or else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nki_anvil.lab.arithmetic import is_array
from nki_anvil.lab.bent_draws import bent, copied
from nki_anvil.lab.reference_module import ReferenceModule

Transform = Callable[[list[Any]], Any]
Pair = tuple[Sequence[Any], list[Any]]
"""Arguments, and what is made of them."""


def transformed(
    module: ReferenceModule, draws: Sequence[Sequence[Any]], mutable: Mapping[str, int]
) -> tuple[dict[str, Any], list[Any]]:
    """Its kind, as far as all draws and bent ones tell; and what it makes of the first, where that is something else.

    Of mutable arguments, by name, it is told which of the kernel's each still is.
    """
    transform: Transform | None = module.function("transform_to_nki_inputs")
    if transform is None:
        return {"kind": "same"}, []
    try:
        first = list(transform(copied(draws[0])))
        if _casts(draws[0], first):
            return {"kind": "fails", "why": "it casts inputs; let get_inputs draw them in the kernel's format"}, []
        shapes = _shapes(first)
        same, kept = _reshapes(draws[0], first), {name: [*range(len(first))] for name in mutable}
        for drawn, given in _pairs(transform, draws):
            if not same and not mutable:
                break
            same &= _reshapes(drawn, given) and not _casts(drawn, given) and _shapes(given) == shapes
            kept = {name: [at for at in kept[name] if _is_kept(drawn[mutable[name]], given, at)] for name in kept}
    except Exception as error:
        return {"kind": "fails", "why": f"{type(error).__name__}: {error}"}, []
    if not same:
        return {"kind": "other", "kept": _each_its_own(kept)}, first
    return ({"kind": "same"} if shapes == _shapes(draws[0]) else {"kind": "reshaped", "shapes": shapes}), []


def _pairs(transform: Transform, draws: Sequence[Sequence[Any]]) -> Iterator[Pair]:
    """One after the other, for they may be large; bent numbers that it does not take tell nothing."""
    for drawn in draws:
        yield drawn, list(transform(copied(drawn)))
        for other in bent(drawn):
            try:
                with np.errstate(all="ignore"):
                    made = list(transform(copied(other)))
            except Exception:  # noqa: S112
                continue
            yield other, made


def _shapes(items: Sequence[Any]) -> list[Any]:
    return [list(item.shape) if is_array(item) else None for item in items]


def reshaped(given: Any, drawn: Any) -> bool:
    """Whether it is the same elements, of whatever shape and format."""
    if not is_array(drawn):
        return given is drawn or bool(given == drawn)
    return is_array(given) and given.size == drawn.size and _equal(given.ravel(), drawn.ravel())


def _reshapes(drawn: Sequence[Any], given: Sequence[Any]) -> bool:
    return len(given) == len(drawn) and all(map(reshaped, given, drawn))


def _casts(drawn: Sequence[Any], given: Sequence[Any]) -> bool:
    """Whether it has the same elements in other formats."""
    formats = (is_array(d) and g.dtype != d.dtype for d, g in zip(drawn, given, strict=False))
    return _reshapes(drawn, given) and any(formats)


def _is_kept(drawn: Any, given: Sequence[Any], at: int) -> bool:
    """Whether what is made at a place is an argument as it was."""
    if at >= len(given) or not is_array(given[at]) or given[at].dtype != drawn.dtype:
        return False
    return _equal(given[at], drawn)


def _equal(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) or np.array_equal(one, other, equal_nan=True)


def _each_its_own(kept: Mapping[str, Sequence[int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, places in kept.items():
        if left := [at for at in places if at not in found.values()]:
            found[name] = left[0]
    return found
