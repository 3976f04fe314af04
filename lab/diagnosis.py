"""What a wrong output looks like: one pattern by deterministic rules, a sentence, a hint, an excerpt. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from nki_anvil.lab.expected import Expected
from nki_anvil.lab.formats import UNIT_ROUNDOFF
from nki_anvil.lab.rows import F64
from nki_anvil.lab.verdict import Pattern

SHOWN: Final = 6
CLOSE: Final = 0.02
"""A pattern explains an output when it leaves this share of the error, or less."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    pattern: Pattern
    sentence: str
    hint: str
    excerpt: str = ""


def diagnose(expected: Expected, y: F64, index: tuple[int, ...]) -> Diagnosis:
    """Name the pattern of a wrong output; ``index`` is its worst element. Both arrays have r's shape."""
    known = np.isfinite(expected.r)
    r, y = np.where(known, expected.r, 0.0), np.where(known, y, 0.0)
    excerpt = _excerpt(r, y, index)
    for rule in _RULES:
        if found := rule(expected, r, y):
            return Diagnosis(found.pattern, found.sentence, found.hint, excerpt)
    return Diagnosis("unknown", _extent(expected, r, y), "Compare the worst row with a run by hand.", excerpt)


def approximation(expected: Expected, y: F64, index: tuple[int, ...]) -> Diagnosis:
    """What is off though nothing is rounded; ``index`` is the worst element."""
    sentence = "Every float of the program was float64 there, so this is no rounding: it computes something else."
    hint = "Does it leave a term out, take a series for a function, or a threshold of its own? The reference has none."
    return Diagnosis("approximation", sentence, hint, _excerpt(expected.r, y, index))


def uncounted() -> Diagnosis:
    """A row adds up to something else, some of whose numbers a rounding decides, and its sum none."""
    sentence = "A rounding decides which number of the row has it, but it is in one of them: it is there twice, or not."
    return Diagnosis("wrong_reduction", sentence, "Is what lies on the edge of two bins in both of them, or in none?")


def _excerpt(r: F64, y: F64, index: tuple[int, ...]) -> str:
    """A few neighbours in the worst row, got and expected."""
    if not index:
        return ""
    start = max(0, min(index[-1] - SHOWN // 2, r.shape[-1] - SHOWN))
    part = (*index[:-1], slice(start, start + SHOWN))
    place = ", ".join([*map(str, index[:-1]), f"{start}:{min(start + SHOWN, r.shape[-1])}"])
    return f"[{place}] got {_numbers(y[part])}, expected {_numbers(r[part])}"


def _numbers(row: F64) -> str:
    return " ".join(f"{value:.5g}" for value in row)


def _not_finite(_expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    """Tiles that are not finite throughout were never computed; scattered elements overflowed."""
    wrong = ~np.isfinite(y)
    if not wrong.any():
        return None
    count = f"{int(wrong.sum())} of {wrong.size} elements are not finite, {_box(wrong)}."
    box = _bounds(wrong)
    if wrong.sum() == _volume(box) > 1 and wrong.sum() >= min(wrong.size, 128):
        return Diagnosis("uninitialised", count, "Is everything written before it is read?")
    hint = "Can exp, divide, log or a square overflow or be undefined on large, tiny or zero inputs?"
    return Diagnosis("overflow", count, hint)


def _scaled(_expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    size = float(np.vdot(r, r))
    if size == 0:
        return None
    factor = float(np.vdot(y, r)) / size
    if abs(factor - 1) < 1e-7 or _left(y - factor * r, y - r) > CLOSE * 5:
        return None
    return Diagnosis(
        "scaled", f"The output is the expected one times {factor:.6g}.", "Check a constant factor or divisor."
    )


def _transposed(_expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    if r.ndim < 2 or min(r.shape[-2:]) < 2:
        return None
    if _left(y - np.swapaxes(r, -1, -2).reshape(r.shape), y - r) > CLOSE:
        return None
    hint = "Swap the operands' roles or transpose before storing."
    return Diagnosis("transposed", "The last two axes are transposed.", hint)


def _shifted(_expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    for axis in range(max(0, r.ndim - 2), r.ndim):
        for shift in (1, -1, 2, -2, 64, -64, 128, -128, 512, -512):
            if abs(shift) < r.shape[axis] // 2 and _is_shift(r, y, axis, shift):
                sentence = f"The output is the expected one moved by {shift} along axis {axis}."
                return Diagnosis("shifted", sentence, "Check the offsets of loads and stores.")
    return None


def _is_shift(r: F64, y: F64, axis: int, shift: int) -> bool:
    moved, there = np.moveaxis(r, axis, 0), np.moveaxis(y, axis, 0)
    kept, seen = (moved[:-shift], there[shift:]) if shift > 0 else (moved[-shift:], there[:shift])
    apart = seen - (moved[shift:] if shift > 0 else moved[:shift])
    return _left(seen - kept, apart) <= CLOSE


def _missing_tile(expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    """Wrong in a box only, or zero where something is expected."""
    wrong = _wrong(expected, r, y)
    empty = wrong & (y == 0)
    zeros = wrong.any() and empty.sum() >= 0.9 * wrong.sum()
    box = _bounds(wrong)
    filled = wrong.any() and r.size > 1 and wrong.sum() >= 0.5 * _volume(box) and _volume(box) <= 0.75 * r.size
    if not zeros and not (filled and _on_edges(box, r.shape)):
        return None
    what = "is zero" if zeros else "is wrong"
    return Diagnosis(
        "missing_tile",
        f"{wrong.mean():.1%} of the output {what}, {_box(wrong)}.",
        "Check the loop bounds and the last, partial tile.",
    )


def _precision(expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    """Small errors of either sign, spread evenly over the rows: rounding, not a missing term."""
    error, size = float(np.linalg.norm(y - r)), float(np.linalg.norm(r))
    if size == 0 or error > 0.02 * size:
        return None
    relative = (y - r)[np.abs(r) > 1e-3 * np.abs(r).max()] / r[np.abs(r) > 1e-3 * np.abs(r).max()]
    biased = abs(float(relative.mean())) > 0.5 * float(relative.std() + 1e-300)
    wide = float((_wrong(expected, r, y)).mean()) > 0.02
    if biased or not wide:
        return None
    named = _format(error / size)
    sentence = f"The error is small ({error / size:.1e}) and spread evenly, as {named} would make it."
    cure = "keep intermediates in float32, or mend a constant with too few digits."
    return Diagnosis("precision", sentence, f"The problem asks for {expected.precision}: {cure}")


def _format(error: float) -> str:
    if error > 0.3 * UNIT_ROUNDOFF["bfloat16"]:
        return "bfloat16 or less"
    return "bfloat16 or tfloat32 intermediates" if error > 0.2 * UNIT_ROUNDOFF["float16"] else "a coarse approximation"


def _wrong_reduction(_expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    """Each row (or column) is the expected one times a factor, or plus an offset, of its own."""
    if r.ndim < 2:
        return None
    for axis in (-1, -2):
        norm = (r * r).sum(axis=axis, keepdims=True)
        factor = (y * r).sum(axis=axis, keepdims=True) / np.where(norm > 0, norm, 1)
        offset = (y - r).mean(axis=axis, keepdims=True)
        if min(_left(y - factor * r, y - r), _left(y - r - offset, y - r)) <= CLOSE * 5:
            sentence = (
                f"Along axis {r.ndim + axis} the output is off by one factor or offset per row: a reduction is wrong."
            )
            return Diagnosis(
                "wrong_reduction", sentence, "Check what the sum, mean or maximum runs over, and its epsilon."
            )
    return None


def _missing_terms(expected: Expected, r: F64, y: F64) -> Diagnosis | None:
    """A sum that lacks terms is, on random inputs, a projection of the whole one: <y, r> equals <y, y>."""
    size = float(np.vdot(y, y))
    if expected.rowwise or size == 0 or abs(float(np.vdot(y, r)) - size) > 0.1 * size:
        return None
    missing = 1 - size / float(np.vdot(r, r))
    if not 1e-3 < missing < 1:
        return None
    sentence = f"The output looks like a part of the sum: about {missing:.0%} of the contraction is missing."
    return Diagnosis("wrong_reduction", sentence, "Check that every slab of the contracted axis is accumulated.")


_RULES: Final[tuple[Callable[[Expected, F64, F64], Diagnosis | None], ...]] = (
    _not_finite, _scaled, _transposed, _shifted, _missing_tile, _wrong_reduction, _missing_terms, _precision,
)  # fmt: skip


def _left(remaining: F64, error: F64) -> float:
    """Which share of an error a pattern does not explain."""
    size = float(np.linalg.norm(error))
    return float(np.linalg.norm(remaining)) / size if size else 1.0


def _wrong(expected: Expected, r: F64, y: F64) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Elements beyond sixteen times what honest runs need."""
    h = np.maximum(expected.spread.astype(np.float64), expected.unit * np.abs(r))
    return np.abs(y - r) > 16 * np.maximum(h, 2.0**-126)


def _bounds(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    if not mask.any():
        return [(0, 0)] * mask.ndim
    hits = [np.flatnonzero(mask.any(axis=tuple(a for a in range(mask.ndim) if a != axis))) for axis in range(mask.ndim)]
    return [(int(hit[0]), int(hit[-1]) + 1) for hit in hits]


def _volume(box: list[tuple[int, int]]) -> float:
    return float(np.prod([stop - start for start, stop in box]))


def _on_edges(box: list[tuple[int, int]], shape: tuple[int, ...]) -> bool:
    """Whether the box begins and ends where tiles do, or where the output does."""
    return all(
        (start == 0 or start % 32 == 0) and (stop == n or stop % 32 == 0)
        for (start, stop), n in zip(box, shape, strict=True)
    )


def _box(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    return "within " + ", ".join(_ranges(_bounds(mask)))


def _ranges(box: list[tuple[int, int]]) -> Iterator[str]:
    yield from (f"{start}:{stop} of axis {axis}" for axis, (start, stop) in enumerate(box))


def _extent(expected: Expected, r: F64, y: F64) -> str:
    wrong = _wrong(expected, r, y)
    return f"{wrong.mean():.1%} of the elements are off, {_box(wrong)}." if wrong.any() else ""
