"""What one case is judged by: the exact result and the honest runs' errors, measured once.

It is made in the reference's process and read by the server; it must not know kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.conserved import Conserved, conserved
from nki_anvil.lab.expected import Expected
from nki_anvil.lab.formats import UNIT_ROUNDOFF, apart
from nki_anvil.lab.rough import Rough
from nki_anvil.lab.rows import F64, sums
from nki_anvil.lab.run_errors import KNOWN_SHARE, RunErrors, is_chosen
from nki_anvil.lab.unjudged import (
    NEAR,
    furthest,
    only_cancelled_rows,
    only_near_rows,
    without_lost_rows,
    without_undecided,
)

ADMISSIBLE_ERROR = 2.0**-12
"""Largest relative row error of an honest run in an admissible case, or 16 u where that is more: of the declared
precision or of the output's format, whichever is coarser."""
UNLUCKY = 4.0
"""Standard deviations by which squares of errors by lot may be more than on average."""
LOST, UNEVEN = 2.0**-10, 64.0
"""A single element of a row is lost where it errs by more than that share of itself, and so many times the median."""


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
    constants: Sequence[Sequence[NDArray[Any]]] = (),
    swung: Sequence[Sequence[NDArray[Any]]] = (),
    *,
    dtypes: Sequence[str],
    precision: str,
    rowwise: bool,
    large: bool,
    partial: bool = False,
    tied: bool = False,
    rough: bool = False,
    rounds: bool = False,
    by_lot: bool = False,
    brink: bool = False,
) -> Yardstick:
    """Turn the runs into limits' material; ``disturbed`` runs are float64, inputs moved by u, functions by noise.

    Runs with other ``constants`` say how far these move the result, and nothing else. Runs ``beside`` come in pairs,
    are moved by more, and say which numbers another rounding decides; those that are ``swung``, which rows.
    In a ``partial`` case rows that make it inadmissible are not numbers in the exact result: nobody is judged there.
    In a ``tied`` one, of small whole numbers, equals stay equal in honest arithmetic: which of them an index names,
    disturbed runs do not say. A ``rough`` one is fair where all rows are lost by a little.
    """
    outputs: list[Expected] = []
    admissible = finite = True
    for position, (result, dtype) in enumerate(zip(exact, dtypes, strict=True)):
        r, most = np.asarray(result, dtype=np.float64), _most(precision, dtype)
        groups = ([run[position] for run in group] for group in (honest, disturbed, beside, swung))
        runs = _Runs(*groups, rounds=rounds)
        if "float" in dtype:
            errors, exactly, fair = _of_floats(r, runs, most, partial, rough)
        else:
            errors, exactly, fair = _of_whole_numbers(r, runs, most, tied)
        expected = errors.expected(exactly, dtype, precision, rowwise, large)
        moved = _moved(r, [run[position] for run in constants])
        found = replace(expected, rounds=rounds, by_lot=by_lot, brink=brink, moved=moved)
        if rounds and not tied:
            found = replace(found, conserved=_conserved(r, found, runs))
        outputs.append(_either_way(found) if by_lot and dtype in UNIT_ROUNDOFF else found)
        finite = finite and errors.finite
        admissible = admissible and errors.finite and fair
    return Yardstick(tuple(outputs), admissible, finite)


def rounded_otherwise(
    exact: Sequence[NDArray[Any]], runs: Sequence[Sequence[NDArray[Any]]]
) -> list[list[NDArray[Any]]]:
    """Of each pair of runs with opposite errors, the outputs off by what both are off by: what moves evenly cancels,
    and what a rounding decides, in one of them, is left."""

    def both(one: NDArray[Any], other: NDArray[Any], r: NDArray[Any]) -> NDArray[Any]:
        return one if one.dtype.kind in "biu" else np.asarray(one, np.float64) + other - r

    with np.errstate(all="ignore"):
        pairs = zip(runs[::2], runs[1::2], strict=True)
        return [list(map(both, one, other, exact)) for one, other in pairs]


def _conserved(r: F64, found: Expected, runs: _Runs) -> tuple[Conserved, ...]:
    """``r`` is the exact result where nobody is left out."""
    return conserved(r, found.decided & np.isfinite(r), [*runs.honest, *runs.disturbed, *runs.beside])


def _moved(r: F64, runs: Sequence[NDArray[Any]]) -> NDArray[np.float32] | None:
    """By how much other constants move an output at most, per element; None where they do not."""
    off = [np.abs(np.subtract(run, r, dtype=np.float64)) for run in runs]
    most = np.nan_to_num(np.max(off, axis=0), nan=np.inf) if off else np.zeros(())
    return most.astype(np.float32) if most.any() else None


def _either_way(output: Expected) -> Expected:
    """A few runs rarely round a number to the farther of its two neighbours that nearly is the nearer one; and where
    rows have few numbers between two, as of updates that are small beside what they update, not as many as others."""
    with np.errstate(all="ignore"):
        r = np.where(np.isfinite(output.r), output.r, 0.0)
        whole = apart(r, output.dtype)
        below = np.abs(r - np.trunc(r / whole) * whole)
        square = below * (whole - below)
        fourth = square * (np.square(below) - square + np.square(whole - below))
        spread = np.maximum(output.spread, apart(output.r, output.dtype).astype(np.float32))
    rows = {
        direction: np.maximum(honest, np.sqrt(sums(square, direction) + UNLUCKY * np.sqrt(sums(fourth, direction))))
        for direction, honest in output.rows.items()
    }
    return replace(output, spread=spread, rows=rows)


def widened(found: Yardstick, factor: float, roughly: bool = False) -> Yardstick:
    """The same with so many times the honest runs' errors in rows and elements; of all of an output they stay.

    ``roughly``, those of rough rows too.
    """
    wider = [
        replace(
            output,
            spread=output.spread * np.float32(factor),
            rows={direction: error * factor for direction, error in output.rows.items()},
            rough=output.rough.widened(factor) if output.rough is not None and roughly else output.rough,
        )
        for output in found.outputs
    ]
    return replace(found, outputs=tuple(wider))


def uneven(expected: Expected) -> bool:
    """Whether an honest run loses single elements of a row that is otherwise calm."""
    calm = np.median(expected.spread, axis=-1, keepdims=True) if expected.r.ndim else expected.spread
    known = np.abs(np.where(np.isfinite(expected.r), expected.r, np.inf))
    with np.errstate(over="ignore"):
        return bool(((expected.spread > UNEVEN * calm) & (expected.spread > LOST * known)).any())


@dataclass(frozen=True, slots=True)
class _Runs:
    """What the runs made of one output."""

    honest: list[NDArray[Any]]
    disturbed: list[NDArray[Any]]
    beside: list[NDArray[Any]]
    swung: list[NDArray[Any]]
    rounds: bool = False


def _of_floats(r: F64, runs: _Runs, most: float, partial: bool, roughly: bool) -> tuple[RunErrors, bool, bool]:
    """The errors, whether float32 holds the result exactly, and whether enough of it is known to judge by."""
    near = cancelled = None
    if partial:
        every, exact = [*runs.honest, *runs.disturbed], without_lost_rows(r, runs.swung, NEAR)
        off = furthest(exact, every)
        r = without_lost_rows(exact, every, most, off)
        if not np.isfinite(r).all():
            near = _lost_alike(only_near_rows(exact, r, every, off), runs)
            cancelled = _lost_alike(only_cancelled_rows(exact, every, off), runs, cancelled=True)
    if runs.beside:
        r = without_undecided(r, runs.beside, runs.rounds)
    judged = np.isfinite(r) if near is None or not roughly else np.isfinite(r) | near.known
    fair = not (partial or runs.beside) or float(judged.mean()) >= KNOWN_SHARE
    errors = RunErrors.of(r)
    errors.rough, errors.cancelled = near, cancelled
    errors.add_all(runs.honest)
    exactly = bool(runs.honest) and bool(np.isfinite(r).any()) and not errors.spread.any()
    errors.add_all(runs.disturbed)
    return errors, exactly, fair and errors.close(most)


def _lost_alike(r: F64 | None, runs: _Runs, cancelled: bool = False) -> Rough | None:
    """Such rows, where there are any, with what runs err in them."""
    if r is None:
        return None
    return Rough.of(r, [*runs.honest, *runs.disturbed], np.isnan(without_undecided(r, runs.beside)), cancelled)


def _of_whole_numbers(r: F64, runs: _Runs, most: float, tied: bool) -> tuple[RunErrors, bool, bool]:
    """The same of integers, which are judged one by one: each is right, or its rounding is free, or its choice."""
    errors = RunErrors.of(r)
    errors.add_all(runs.honest)
    choices = tied and not errors.spread.any()
    errors.add_all([run for run in runs.disturbed if not (choices and is_chosen(run, r))])
    errors.add_all(runs.beside)
    exactly = bool(runs.honest) and not errors.spread.any()
    errors.free_the_chosen()
    return errors, exactly, errors.close(most) or errors.mostly_decided()


def _most(precision: str, dtype: str) -> float:
    return max(ADMISSIBLE_ERROR, 16 * UNIT_ROUNDOFF[precision], 16 * UNIT_ROUNDOFF.get(dtype, 0.0))
