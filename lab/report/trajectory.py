"""Latency and percent of the bound over attempts, with intervals, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.report.axes import WIDTH, Scale, around, figure
from nki_anvil.lab.results import AttemptLine

LEFT: Final = 56
RIGHT: Final = 44
TOP: Final = 26
BOTTOM: Final = 238
REJECTED: Final = 258
"""Where attempts without a latency are marked, below the axis."""
HEIGHT: Final = 300
BENT: Final = 5.0
"""Above this ratio of slowest to fastest the axis is logarithmic."""
MARKS: Final = 12
"""Attempt numbers at the axis, at most."""


@dataclass(frozen=True)
class Point:
    """One measured attempt."""

    x: float
    y: float
    high: float
    low: float
    """The ends of its interval; as y where there is none."""
    kind: str
    label: str


@dataclass(frozen=True)
class Trajectory:
    points: tuple[Point, ...]
    rejected: tuple[tuple[float, str], ...]
    best: str
    """The staircase of best, as an SVG path."""
    ticks: tuple[tuple[float, str, str], ...]
    """Place, latency, percent of the bound there."""
    marks: tuple[tuple[float, int], ...]
    logarithmic: bool


def trajectory(
    lines: list[AttemptLine], comparisons: dict[int, Comparison], bound_us: float | None
) -> Trajectory | None:
    """None before anything was measured."""
    measured = [line for line in lines if line.latency_us and line.same_as is None]
    if not measured:
        return None
    intervals = {line.attempt: interval(comparisons.get(line.attempt), line.latency_us or 0.0) for line in measured}
    values = [value for ends in intervals.values() for value in ends]
    bent = max(values) > BENT * min(values)
    y = Scale(*around(values, logarithmic=bent), BOTTOM, TOP, logarithmic=bent)
    last = max(1, lines[-1].attempt)
    x = Scale(0, last, LEFT + 14, WIDTH - RIGHT - 14)
    points = tuple(_point(line, intervals[line.attempt], x, y) for line in measured)
    return Trajectory(
        points=points,
        rejected=tuple((x(line.attempt), _reason(line)) for line in lines if line.passed is False),
        best=_staircase(points),
        ticks=tuple((place, label, _percent(y, place, bound_us)) for place, label in y.ticks()),
        marks=tuple((x(number), number) for number in range(0, last + 1, -(-(last + 1) // MARKS))),
        logarithmic=bent,
    )


def interval(found: Comparison | None, latency_us: float) -> tuple[float, float]:
    """Lowest and highest latency that the comparison allows; the latency itself where nothing was compared."""
    if found is None or not (found.best_latency_us and found.speedup_low and found.speedup_high):
        return latency_us, latency_us
    ends = (found.best_latency_us / found.speedup_high, found.best_latency_us / found.speedup_low)
    return min(*ends, latency_us), max(*ends, latency_us)


def _point(line: AttemptLine, ends: tuple[float, float], x: Scale, y: Scale) -> Point:
    latency = line.latency_us or 0.0
    return Point(x(line.attempt), y(latency), y(ends[1]), y(ends[0]), line.outcome or "undecided", _label(line))


def _label(line: AttemptLine) -> str:
    speedup = f", {line.speedup:.3f} times best" if line.speedup else ""
    plan = f": {line.plan}" if line.plan else ""
    return f"attempt {line.attempt}, {figure(line.latency_us)} µs, {line.outcome}{speedup}{plan}"


def _reason(line: AttemptLine) -> str:
    return f"attempt {line.attempt}, rejected at gate {line.failed_gate}"


def _percent(y: Scale, place: float, bound_us: float | None) -> str:
    """What the latency at a place is worth."""
    if not bound_us:
        return ""
    share = (place - y.start) / (y.end - y.start)
    latency = y.low * (y.high / y.low) ** share if y.logarithmic else y.low + share * (y.high - y.low)
    return f"{100 * bound_us / latency:.0f} %" if latency > 0 else ""


def _staircase(points: tuple[Point, ...]) -> str:
    """The latency of best after each attempt."""
    kept = [point for point in points if point.kind == "keep"]
    if not kept:
        return ""
    steps = "".join(f"H{point.x}V{point.y}" for point in kept[1:])
    return f"M{kept[0].x},{kept[0].y}{steps}H{WIDTH - RIGHT}"
