"""What the simulator found, as the plain JSON of ``backends/run.py``. It knows both sides and decides nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Optional

_TEXT = 2000
"""Characters of a message: one may quote what a hostile program says of itself."""
FINDINGS = 1000
"""Of a program or a run, each one of a line."""


def as_bytes(run: dict[str, Any]) -> bytes:
    """A run as it is stored. Half of a surrogate pair is no character, and no reader of JSON takes it."""
    return json.dumps(run, ensure_ascii=False).encode(errors="replace")


def error(found: BaseException, code: Optional[str] = None) -> dict[str, Any]:
    """An exception of the simulator as a KernelError."""
    return {
        "code": code or str(getattr(found, "code", type(found).__name__)),
        "message": str(getattr(found, "message", "") or found)[:_TEXT],
        "line": line(getattr(found, "line", None)),
        "remedy": str(getattr(found, "remedy", ""))[:_TEXT],
    }


def findings(found: Sequence[Any]) -> list[dict[str, Any]]:
    """``sim`` Findings, errors first, as many as anybody reads."""
    return [finding(one) for one in sorted(found, key=lambda one: one.severity != "error")[:FINDINGS]]


def finding(found: Any) -> dict[str, Any]:
    """A ``sim`` Finding as a Finding."""
    return {
        "code": found.code,
        "severity": found.severity,
        "message": found.message[:_TEXT],
        "line": line(found.line),
        "remedy": found.remedy,
        "count": int(found.count),
    }


def line(number: Optional[int]) -> Optional[int]:
    """The simulator counts lines from 1 and writes 0 where it does not know."""
    return int(number) if number else None


def trace(program: Any, digests: list[str]) -> dict[str, Any]:
    """A validated program's part of a Trace."""
    outputs = [int(access) for access in program.tables["outputs"]["access"]]
    return {
        "outcome": "ok",
        "digests": digests,
        "outputs": [{"shape": list(program.shape(access)), "dtype": _dtype(program, access)} for access in outputs],
        "returned": [_argument(program, access) for access in outputs],
        "instructions": len(program),
        "constant_bytes": program.constant_bytes(),
        "unordered": program.unordered,
    }


def _argument(program: Any, access: int) -> Optional[int]:
    argument = int(program.tables["tensors"]["argument"][program.tables["accesses"]["tensor"][access]])
    return argument if argument >= 0 else None


def _dtype(program: Any, access: int) -> str:
    from nki_anvil.sim import dtypes

    return dtypes.NAMES[int(program.tables["accesses"]["dtype"][access])]


def profile(estimate: Any, shapes: str) -> dict[str, Any]:
    """An estimate as a Profile."""
    return {
        "shapes": shapes,
        "origin": "modelled",
        "latency_us": float(estimate.latency_us),
        "latency_low_us": float(estimate.latency_low_us),
        "latency_high_us": float(estimate.latency_high_us),
        "floor_us": float(estimate.floor_us),
        "bound_by": estimate.bound_by,
        "busiest": estimate.busiest,
        "engines": [
            {"engine": e.engine, "busy_us": float(e.busy_us), "share": float(e.share), "instructions": e.instructions}
            for e in estimate.engines
        ],
        "metrics": _numbers(estimate.metrics),
        "gaps": [
            {"name": g.name, "cost_us": float(g.cost_us), "lines": [int(n) for n in g.lines], "advice": g.advice}
            for g in estimate.gaps
        ],
        "extra": _numbers(estimate.extra),
        "constants": estimate.constants,
    }


def _numbers(values: Any) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items()}
