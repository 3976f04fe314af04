"""What one case is judged by: the exact result and the honest runs' errors, measured once and kept in a file.

It is made in the reference's process and read by the server; it must not know kernels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.lab.limits import F64, UNIT_ROUNDOFF, Expected, directions, norm, norms

ADMISSIBLE_ERROR = 2.0**-12
"""Largest relative row error of an honest run in an admissible case, or 16 u where that is more."""


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
    *,
    dtypes: Sequence[str],
    precision: str,
    rowwise: bool,
    large: bool,
) -> Yardstick:
    """Turn the runs into limits' material; ``disturbed`` runs are float64 with inputs moved by u."""
    outputs: list[Expected] = []
    admissible = finite = True
    for position, result in enumerate(exact):
        r = np.asarray(result, dtype=np.float64)
        runs = [np.asarray(run[position], dtype=np.float64) for run in honest]
        moved = [np.asarray(run[position], dtype=np.float64) for run in disturbed]
        output, everywhere, close = _output(r, runs, moved, dtypes[position], precision, rowwise, large)
        outputs.append(output)
        finite = finite and everywhere
        admissible = admissible and everywhere and close
    return Yardstick(tuple(outputs), admissible, finite)


def _output(
    r: F64, runs: list[F64], moved: list[F64], dtype: str, precision: str, rowwise: bool, large: bool
) -> tuple[Expected, bool, bool]:
    finite = np.isfinite(r)
    everywhere = bool(finite.all()) and all(bool(np.isfinite(e).all()) for e in runs + moved)
    with np.errstate(all="ignore"):
        errors = [np.where(finite & np.isfinite(e), e - r, 0.0) for e in runs + moved]
        known = np.where(finite, r, 0.0)
        spread = np.max([np.abs(e) for e in errors], axis=0) if errors else np.zeros_like(known)
        rows = {d: np.max([norms(e, d) for e in errors], axis=0) for d in directions(r.shape)}
        whole = max((_relative(e, known) for e in errors), default=0.0)
        relative = _row_error(known, rows)
    expected = Expected(
        r=r,
        spread=np.nextafter(spread.astype(np.float32), np.float32(np.inf))
        if spread.any()
        else spread.astype(np.float32),
        rows=rows,
        whole=whole,
        dtype=dtype,
        precision=precision,
        exact=everywhere and bool(runs) and all(np.array_equal(e, r) for e in runs),
        rowwise=rowwise,
        large=large,
    )
    return expected, everywhere, relative <= max(ADMISSIBLE_ERROR, 16 * UNIT_ROUNDOFF[precision])


def _relative(error: F64, known: F64) -> float:
    size = norm(known)
    return norm(error) / size if size else 0.0


def _row_error(known: F64, rows: dict[str, F64]) -> float:
    """Worst relative error of an honest row along the last axis that has rows."""
    direction = [d for d in rows if d != "tile"][-1]
    size, error = norms(known, direction), rows[direction]
    return float(np.max(np.divide(error, size, out=np.where(error > 0, np.inf, 0.0), where=size > 0), initial=0.0))


def save(yardstick: Yardstick, path: Path) -> None:
    """Write a yardstick as ``.npz``."""
    arrays: dict[str, NDArray[Any]] = {}
    facts: list[dict[str, Any]] = []
    for position, output in enumerate(yardstick.outputs):
        arrays[f"r{position}"], arrays[f"spread{position}"] = output.r, output.spread
        arrays |= {f"rows{position}/{direction}": norm for direction, norm in output.rows.items()}
        names = ("whole", "dtype", "precision", "exact", "rowwise", "large")
        facts.append({name: getattr(output, name) for name in names} | {"directions": list(output.rows)})
    text = json.dumps({"admissible": yardstick.admissible, "outputs": facts}).encode()
    np.savez(path, facts=np.frombuffer(text, dtype=np.uint8), **arrays)  # type: ignore[arg-type]


def load(path: Path) -> Yardstick:
    """Read a yardstick back; raises OSError, ValueError or KeyError for a file that is none."""
    with np.load(path, allow_pickle=False) as data:
        facts = json.loads(data["facts"].tobytes())
        outputs: list[Expected] = []
        for position, fact in enumerate(facts["outputs"]):
            rows = {d: data[f"rows{position}/{d}"] for d in fact.pop("directions")}
            outputs.append(Expected(r=data[f"r{position}"], spread=data[f"spread{position}"], rows=rows, **fact))
    return Yardstick(tuple(outputs), bool(facts["admissible"]))
