"""The report of one problem: one HTML file with a table and a picture, readable without a network, light or dark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import log10
from pathlib import Path

import jinja2

from nki_anvil.lab import diary, yields
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.results import AttemptLine
from nki_anvil.lab.status import attempt_line, best_line
from nki_anvil.lab.workbench import Workbench

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 300, 70, 34, 16, 16


@dataclass(frozen=True)
class Point:
    """One measured attempt in the picture, in SVG units."""

    x: float
    y: float
    kind: str
    label: str


@dataclass(frozen=True)
class Picture:
    """Latency over attempts, on a logarithmic axis when it spans more than a factor of five."""

    points: tuple[Point, ...]
    best: str
    """The staircase of best, as an SVG path."""
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, int], ...]


def render(bench: Workbench, claim: Comparison | None = None) -> str:
    """The whole page."""
    lines = [attempt_line(bench, attempt) for attempt in bench.problem.attempts.all()]
    reflexions = [(attempt.number, said) for attempt in bench.problem.attempts.all() for said in attempt.reflexions()]
    best = bench.best()
    return _template().render(
        problem=bench.problem,
        specification=bench.specification,
        origin=bench.origin,
        backend=bench.backend,
        best=best_line(bench.specification, best),
        receipt=best.receipt if best else None,
        kernel=bench.problem.attempts.get(best.attempt).text() if best else "",
        baseline=best.baseline if best else None,
        claim=claim,
        peak=yields.peak(bench.specification),
        bound=yields.bound(bench.specification),
        lines=lines,
        picture=picture(lines),
        reflexions=reflexions,
        events=diary.history(bench.problem.folder)[-50:],
        written_at=bench.now().isoformat(timespec="seconds"),
        size={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "bottom": HEIGHT - BOTTOM},
    )


@cache
def _template() -> jinja2.Template:
    source = (Path(__file__).parent / "templates" / "report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["figure"] = figure
    return environment.from_string(source)


def figure(value: float | None, digits: int = 4) -> str:
    """A number with as many digits as it is worth; a dash for none."""
    return "–" if value is None else f"{value:.{digits}g}"


def picture(lines: list[AttemptLine]) -> Picture | None:
    """None before anything was measured."""
    measured = [line for line in lines if line.latency_us and line.same_as is None]
    if not measured:
        return None
    latencies = [line.latency_us or 0.0 for line in measured]
    scale = _scale(min(latencies), max(latencies))
    last = max(1, lines[-1].attempt)

    def x(attempt: int) -> float:
        return round(LEFT + 12 + (WIDTH - LEFT - RIGHT - 24) * attempt / last, 1)

    points = tuple(
        Point(x(line.attempt), scale(line.latency_us or 0.0), line.outcome or "undecided", _label(line))
        for line in measured
    )
    return Picture(points, _staircase(points), _ticks(min(latencies), max(latencies), scale), _marks(last, x))


def _label(line: AttemptLine) -> str:
    speedup = f", {line.speedup:.3f} x" if line.speedup else ""
    return f"attempt {line.attempt}: {line.latency_us:.4g} us, {line.outcome}{speedup}"


def _scale(low: float, high: float) -> Callable[[float], float]:
    """From µs to SVG units, with a tenth of the range as margin."""
    transform: Callable[[float], float] = log10 if high > 5 * low else float
    bottom, top = transform(low), transform(high)
    margin = 0.1 * (top - bottom) or 0.05 * abs(top) or 1.0
    room = HEIGHT - BOTTOM - TOP

    def place(us: float) -> float:
        share = (transform(us) - bottom + margin) / (top - bottom + 2 * margin)
        return round(TOP + room * (1 - share), 1)

    return place


def _ticks(low: float, high: float, scale: Callable[[float], float]) -> tuple[tuple[float, str], ...]:
    values = [low + (high - low) * share for share in (0, 0.25, 0.5, 0.75, 1)] if high > low else [low]
    return tuple((scale(value), f"{value:.4g}") for value in values)


def _marks(last: int, x: Callable[[int], float]) -> tuple[tuple[float, int], ...]:
    step = max(1, last // 10)
    return tuple((x(number), number) for number in range(0, last + 1, step))


def _staircase(points: tuple[Point, ...]) -> str:
    """The latency of best after each attempt."""
    kept = [point for point in points if point.kind == "keep"]
    if not kept:
        return ""
    path = f"M{kept[0].x},{kept[0].y}" + "".join(f"H{point.x}V{point.y}" for point in kept[1:])
    return f"{path}H{WIDTH - RIGHT}"
