"""What one case is judged by: the exact result and the honest runs' errors, measured once and kept in a file.

It is made in the reference's process and read by the server; it must not know kernels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.worker import arrays
from nki_anvil.lab.limits import F64, NOTHING, UNIT_ROUNDOFF, Expected, directions, norm, norms

ADMISSIBLE_ERROR = 2.0**-12
"""Largest relative row error of an honest run in an admissible case, or 16 u where that is more: of the declared
precision or of the output's format, whichever is coarser."""
CHOSEN = 2.0**-10
"""Beside the largest number of an output of integers: what a disturbed run is off by more than, and than one, is not
rounded otherwise but another choice among equals."""
JUMP, ONE_SIDED = 2.0**-14, 16.0
"""A number is decided by a rounding where that moves it by such a share of itself and of its row's typical one, and by
so many times what the opposite rounding does."""
LOST, UNEVEN = 2.0**-10, 64.0
"""A single element of a row is lost where it errs by more than that share of itself, and so many times the median."""
KNOWN_SHARE = 0.25
"""Of a partial case, or of whole numbers, that must be left to judge by."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """All outputs of one case, in the reference's order."""

    outputs: tuple[Expected, ...]
    admissible: bool
    """Every honest run is finite and close to the exact result; false: nobody can be blamed on this case."""
    finite: bool = True
    """Every honest run is finite, however far it is off."""


def measure(
    exact: Sequence[NDArray[Any]],
    honest: Sequence[Sequence[NDArray[Any]]],
    disturbed: Sequence[Sequence[NDArray[Any]]],
    beside: Sequence[Sequence[NDArray[Any]]] = (),
    *,
    dtypes: Sequence[str],
    precision: str,
    rowwise: bool,
    large: bool,
    partial: bool = False,
    tied: bool = False,
) -> Yardstick:
    """Turn the runs into limits' material; ``disturbed`` runs are float64, inputs moved by u, functions by noise.

    Runs ``beside`` come in pairs, are moved by more, and say which numbers another rounding decides.
    In a ``partial`` case rows that make it inadmissible are not numbers in the exact result: nobody is judged there.
    In a ``tied`` one, of small whole numbers, equals stay equal in honest arithmetic: which of them an index names,
    disturbed runs do not say.
    """
    outputs: list[Expected] = []
    admissible = finite = True
    for position, result in enumerate(exact):
        r = np.asarray(result, dtype=np.float64)
        whole, most = "float" not in dtypes[position], _most(precision, dtypes[position])
        if partial and not whole:
            r = _without_lost_rows(r, [run[position] for run in (*honest, *disturbed)], most)
            admissible = admissible and float(np.isfinite(r).mean()) >= KNOWN_SHARE
        if beside and not whole:
            r = _without_undecided(r, [run[position] for run in beside])
            admissible = admissible and float(np.isfinite(r).mean()) >= KNOWN_SHARE
        errors = _Errors.of(r)
        for run in honest:
            errors.add(run[position])
        exactly = not errors.spread.any()
        for run in disturbed:
            if not (whole and tied and exactly and _chosen(run[position], r)):
                errors.add(run[position])
        for run in beside if whole else ():
            errors.add(run[position])
        if whole:
            exactly = exactly and not errors.spread.any()
            errors.free_the_chosen()
        outputs.append(errors.expected(exactly and bool(honest), dtypes[position], precision, rowwise, large))
        finite = finite and errors.finite
        admissible = admissible and errors.finite and (errors.close(most) or (whole and errors.mostly_decided()))
    return Yardstick(tuple(outputs), admissible, finite)


def widened(found: Yardstick, factor: float) -> Yardstick:
    """The same with so many times the honest runs' errors in rows and elements; of all of an output they stay."""
    wider = [
        replace(o, spread=o.spread * np.float32(factor), rows={k: v * factor for k, v in o.rows.items()})
        for o in found.outputs
    ]
    return replace(found, outputs=tuple(wider))


def uneven(expected: Expected) -> bool:
    """Whether an honest run loses single elements of a row that is otherwise calm."""
    calm = np.median(expected.spread, axis=-1, keepdims=True) if expected.r.ndim else expected.spread
    known = np.abs(np.where(np.isfinite(expected.r), expected.r, np.inf))
    with np.errstate(over="ignore"):
        return bool(((expected.spread > UNEVEN * calm) & (expected.spread > LOST * known)).any())


def _without_undecided(r: F64, beside: Sequence[NDArray[Any]]) -> F64:
    """The exact result, not a number where one run of a pair is far off and its counterpart is not.

    Errors of opposite signs move a smooth result by as much to either side; what a rounding or a threshold decides
    jumps in one of them.
    """
    direction = _along(directions(r.shape))
    with np.errstate(all="ignore"):
        size = norms(r, direction)
        size = size / np.sqrt(r.size / max(1, size.size))
    typical = size if direction == "whole" else np.expand_dims(size, int(direction.removeprefix("axis")))
    undecided = np.zeros(r.shape, np.bool_)
    for one, other in zip(beside[::2], beside[1::2], strict=True):
        with np.errstate(all="ignore"):
            off = [np.abs(np.subtract(run, r, dtype=np.float64)) for run in (one, other)]
            far, near = np.maximum(*off), np.minimum(*off)
            undecided |= (far > JUMP * np.maximum(np.abs(r), typical)) & (far > ONE_SIDED * near)
    if direction != "whole":  # a contraction behind a decision brings it to all of a row
        undecided |= undecided.mean(axis=int(direction.removeprefix("axis")), keepdims=True) > KNOWN_SHARE
    return np.where(undecided, np.nan, r)


def _chosen(run: NDArray[Any], r: F64) -> bool:
    off = float(np.abs(np.subtract(run, r, dtype=np.float64)).max(initial=0.0))
    return off > max(1.0, CHOSEN * float(np.abs(r).max(initial=0.0)))


def _without_lost_rows(r: F64, runs: Sequence[NDArray[Any]], most: float) -> F64:
    """The exact result, not a number in rows where it, or a run, is not finite, or a run is off by more than that."""
    direction = _along(directions(r.shape))
    with np.errstate(all="ignore"):
        size = norms(r, direction)
        allowed = most * size + _nothing(r, size)
        lost = ~np.isfinite(size)
        for run in runs:
            off = norms(np.subtract(run, r, dtype=np.float64), direction)
            lost |= ~(np.isfinite(off) & (off <= allowed))
    if direction == "whole":
        return np.full_like(r, np.nan) if lost.any() else r
    return np.where(np.expand_dims(lost, int(direction.removeprefix("axis"))), np.nan, r)


def _nothing(r: F64, size: F64) -> F64 | float:
    """How far a row may be off whose elements are so far below the largest of all that they may be cut off."""
    known = r[np.isfinite(r)]
    return NOTHING * float(np.abs(known).max(initial=0.0)) * np.sqrt(r.size / max(1, size.size))


def _most(precision: str, dtype: str) -> float:
    return max(ADMISSIBLE_ERROR, 16 * UNIT_ROUNDOFF[precision], 16 * UNIT_ROUNDOFF.get(dtype, 0.0))


def _along(found: Sequence[str]) -> str:
    """The last axis that has rows, or all of an output."""
    return [direction for direction in found if direction != "tile"][-1]


@dataclass(slots=True)
class _Errors:
    """The largest errors of all runs seen so far against one exact output; one run is held at a time."""

    r: F64
    known: F64
    spread: F64
    rows: dict[str, F64]
    whole: float = 0.0
    finite: bool = True
    """Of all runs, wherever the exact result is."""

    @classmethod
    def of(cls, r: F64) -> _Errors:
        known = r if np.isfinite(r).all() else np.where(np.isfinite(r), r, 0.0)
        rows = {direction: np.zeros_like(norms(known, direction)) for direction in directions(r.shape)}
        return cls(r, known, np.zeros_like(known), rows)

    def add(self, run: NDArray[Any]) -> None:
        with np.errstate(all="ignore"):
            error = np.asarray(np.subtract(run, self.r, dtype=np.float64))
            there = np.isfinite(error)
            if not there.all():
                self.finite = self.finite and bool((there | ~np.isfinite(self.r)).all())
                error = np.where(there, error, 0.0)
            for direction, worst in self.rows.items():
                np.maximum(worst, norms(error, direction), out=worst)
            self.whole = max(self.whole, _relative(error, self.known))
            np.maximum(self.spread, np.abs(error, out=error), out=self.spread)

    def close(self, most: float) -> bool:
        """Whether the worst row of a run is near enough to blame a kernel by."""
        with np.errstate(all="ignore"):
            return _row_error(self.known, self.rows) <= most

    def free_the_chosen(self) -> None:
        """Of several that are as good, a right kernel may choose one that is further away than any that runs chose."""
        largest = float(np.abs(self.known).max(initial=0.0))
        chosen = self.spread > max(1.0, CHOSEN * largest)
        self.spread = np.where(chosen, np.maximum(self.spread, largest), self.spread)

    def mostly_decided(self) -> bool:
        """Whether enough whole numbers are the same in every run: each is judged by itself."""
        return float((self.spread == 0).mean()) >= KNOWN_SHARE if self.spread.size else True

    def expected(self, exactly: bool, dtype: str, precision: str, rowwise: bool, large: bool) -> Expected:
        with np.errstate(over="ignore"):
            spread = self.spread.astype(np.float32)
        return Expected(
            r=self.r,
            spread=np.nextafter(spread, np.float32(np.inf)) if spread.any() else spread,
            rows=self.rows,
            whole=self.whole,
            dtype=dtype,
            precision=precision,
            exact=self.finite and exactly,
            rowwise=rowwise,
            large=large,
        )


def _relative(error: F64, known: F64) -> float:
    size = norm(known)
    return norm(error) / size if size else 0.0


def _row_error(known: F64, rows: dict[str, F64]) -> float:
    """Worst relative error of an honest row along the last axis that has rows."""
    direction = _along(list(rows))
    size = norms(known, direction)
    error = np.maximum(rows[direction] - _nothing(known, size), 0.0)
    return float(np.max(np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0), initial=0.0))


def save(yardstick: Yardstick, path: Path) -> None:
    """Write a yardstick as ``.npz``."""
    kept: dict[str, NDArray[Any]] = {}
    facts: list[dict[str, Any]] = []
    for position, output in enumerate(yardstick.outputs):
        kept[f"r{position}"], kept[f"spread{position}"] = output.r, output.spread
        kept |= {f"rows{position}/{direction}": norm for direction, norm in output.rows.items()}
        names = ("whole", "dtype", "precision", "exact", "rowwise", "large")
        facts.append({name: getattr(output, name) for name in names} | {"directions": list(output.rows)})
    text = json.dumps({"admissible": yardstick.admissible, "outputs": facts}).encode()
    np.savez(path, facts=np.frombuffer(text, dtype=np.uint8), **kept)  # type: ignore[arg-type]


def load(path: Path) -> Yardstick:
    """Read a yardstick back; raises OSError, ValueError or KeyError for a file that is none."""
    data = arrays.read_all(path)
    facts = json.loads(data["facts"].tobytes())
    outputs: list[Expected] = []
    for position, fact in enumerate(facts["outputs"]):
        rows = {d: data[f"rows{position}/{d}"] for d in fact.pop("directions")}
        outputs.append(Expected(r=data[f"r{position}"], spread=data[f"spread{position}"], rows=rows, **fact))
    return Yardstick(tuple(outputs), bool(facts["admissible"]))
