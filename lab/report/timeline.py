"""What each engine does when, as a picture: a lane per engine and queue, darker where it is busier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from nki_anvil.lab.report.axes import WIDTH, Scale
from nki_anvil.lab.report.templates import template

LEFT: Final = 104
RIGHT: Final = 12
TOP: Final = 10
LANE: Final = 22
CELLS: Final = WIDTH - LEFT - RIGHT
"""Of time: one per pixel."""
LEVELS: Final = 4
"""Shades of busy; a cell that is touched at all has the first."""
SIZE: Final = {"width": WIDTH, "left": LEFT, "right": WIDTH - RIGHT, "lane": LANE}
LARGEST_BYTES: Final = 64 << 20
"""Of a timeline that is drawn; a larger one is for Perfetto."""


class Event(BaseModel):
    """As much of a trace event as the picture needs."""

    model_config = ConfigDict(extra="ignore")

    ph: str
    cat: str = ""
    ts: FiniteFloat = 0.0
    dur: FiniteFloat = 0.0


class Trace(BaseModel):
    model_config = ConfigDict(extra="ignore")

    traceEvents: list[Event]  # noqa: N815 - the format's own name


@dataclass(frozen=True)
class Lane:
    name: str
    y: float
    bars: tuple[tuple[float, float, int], ...]
    """Place, width and shade."""


@dataclass(frozen=True)
class Timeline:
    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int
    title: str


def read(trace: str | None) -> list[Event]:
    """The work in it; nothing where there is none, or it is too large or no trace."""
    if trace is None or len(trace) > LARGEST_BYTES:
        return []
    try:
        found = Trace.model_validate_json(trace).traceEvents
    except ValidationError:
        return []
    return [event for event in found if event.ph == "X" and event.dur > 0 and event.ts >= 0]


def end_of(events: Sequence[Event]) -> float:
    """µs; 0 where there are none."""
    return max((event.ts + event.dur for event in events), default=0.0)


def timeline(events: Sequence[Event], until_us: float, title: str) -> Timeline | None:
    """Drawn up to `until_us`, so that two can be compared by eye."""
    if not events or until_us <= 0:
        return None
    names = sorted({event.cat for event in events}, key=_order)
    x = Scale(0, until_us, LEFT, WIDTH - RIGHT)
    lanes = tuple(
        Lane(name, TOP + LANE * row, _bars([e for e in events if e.cat == name], until_us))
        for row, name in enumerate(names)
    )
    return Timeline(lanes, tuple(x.ticks()), TOP + LANE * len(names) + 26, title)


def _order(name: str) -> tuple[int, str]:
    """Transfers first, as they come first."""
    return (0 if "load" in name else 1 if name.startswith("dma") else 2), name


def _bars(events: Sequence[Event], until_us: float) -> tuple[tuple[float, float, int], ...]:
    shades = np.ceil(np.clip(busy(events, until_us), 0, 1) * LEVELS - 1e-9).astype(int)
    edges = np.flatnonzero(np.diff(shades, prepend=-1, append=-1))
    runs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return tuple((LEFT + a, b - a, int(shades[a])) for a, b in runs if shades[a])


def busy(events: Sequence[Event], until_us: float) -> NDArray[np.float64]:
    """The share of each cell's time that the events fill, summed."""
    share = np.zeros(CELLS)
    for event in events:
        first, last = (CELLS * at / until_us for at in (event.ts, event.ts + event.dur))
        cells = np.arange(int(first), min(int(last) + 1, CELLS))
        share[cells] += np.clip(np.minimum(last, cells + 1) - np.maximum(first, cells), 0, 1)
    return share


def picture(events: Sequence[Event], title: str) -> str | None:
    """The same as an SVG file of its own."""
    drawn = timeline(events, end_of(events), title)
    return template("timeline.svg").render(drawn=drawn, alone=True, size=SIZE) if drawn else None
