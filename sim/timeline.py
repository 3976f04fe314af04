"""The schedule as trace-event JSON: what Perfetto and chrome://tracing open.

One track per engine and per queue of transfers, each event with its source line, arrows where an instruction waited for
another. Times are microseconds, as the format wants them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nki_anvil.sim.costs.dependencies import RAW, REUSE, WAR, WAW
from nki_anvil.sim.costs.transfers import Transfers
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.queues import PER_CORE, QUEUES
from nki_anvil.sim.schedule import Schedule

KINDS: Final = {RAW: "read after write", WAR: "write after read", WAW: "write after write", REUSE: "reuse of space"}
TRANSFERS: Final = 1000
"""Tracks of transfers are numbered from here on, a thousand per queue."""
INSIDE_NS: Final = 1.0
MAX_EVENTS: Final = 50_000
"""Beyond this the drawing ends; a viewer gains nothing from more."""


def draw(program: Program, schedule: Schedule, moved: Transfers) -> str:
    """The JSON text."""
    sizes = dict(zip(moved.rows.tolist(), moved.size.tolist(), strict=True))
    tracks = _tracks(schedule, sizes)
    events = [*_names(schedule, tracks)]
    for position in range(len(tracks)):
        events.append(_event(program, schedule, position, sizes, tracks))
        events.extend(_arrow(schedule, position, tracks))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))


def _tracks(schedule: Schedule, sizes: Mapping[int, int]) -> list[int]:
    """The track of each event. Transfers of one queue overlap, and events of one track may not: what overlaps moves to
    a further track of its queue."""
    shown = range(min(len(schedule.order), MAX_EVENTS))
    tracks = [schedule.queue[position] for position in shown]
    until: dict[int, list[float]] = {}
    transfers = (position for position in shown if schedule.order[position] in sizes)
    for position in sorted(transfers, key=lambda position: schedule.first[position]):
        ends = until.setdefault(schedule.queue[position], [])
        free = next((at for at, end in enumerate(ends) if end <= schedule.first[position]), len(ends))
        ends[free : free + 1] = [schedule.release[position]]
        tracks[position] = TRANSFERS + schedule.queue[position] * TRANSFERS + free
    return tracks


def _names(schedule: Schedule, tracks: Sequence[int]) -> Iterator[dict[str, Any]]:
    """One event per track that names it, and one per core."""
    lanes = dict(sorted(zip(tracks, schedule.queue, strict=False)))
    for core in sorted({lane // PER_CORE for lane in lanes.values()}):
        yield {"ph": "M", "name": "process_name", "pid": core, "args": {"name": f"NeuronCore {core}"}}
    for track, lane in lanes.items():
        name = QUEUES[lane % PER_CORE]
        is_transfer, further = track >= TRANSFERS, track % TRANSFERS if track >= TRANSFERS else 0
        title = name if name.startswith("dma") else f"dma from {name}" if is_transfer else name
        title += f" ({further + 1})" if further else ""
        place = {"pid": lane // PER_CORE, "tid": track}
        yield {"ph": "M", "name": "thread_name", **place, "args": {"name": title}}
        yield {"ph": "M", "name": "thread_sort_index", **place, "args": {"sort_index": track}}


def _event(
    program: Program, schedule: Schedule, position: int, sizes: Mapping[int, int], tracks: Sequence[int]
) -> dict[str, Any]:
    instruction, lane = schedule.order[position], schedule.queue[position]
    table = program.tables["instructions"]
    is_transfer = instruction in sizes
    start, end = schedule.first[position], schedule.release[position]
    details: dict[str, Any] = {"line": int(table["line"][instruction]), "instruction": instruction}
    if is_transfer:
        details |= {"bytes": sizes[instruction], "triggered_us": schedule.start[position] / 1e3}
    return {
        "ph": "X",
        "name": NAMES[int(table["opcode"][instruction])],
        "cat": QUEUES[lane % PER_CORE],
        "pid": lane // PER_CORE,
        "tid": tracks[position],
        "ts": start / 1e3,
        "dur": (end - start) / 1e3,
        "args": details,
    }


def _leaving(schedule: Schedule, position: int) -> float:
    """The last moment inside an event: at its very end a viewer has closed it, and no arrow begins there."""
    first, release = schedule.first[position], schedule.release[position]
    return release - min(INSIDE_NS, (release - first) / 2)


def _arrow(schedule: Schedule, position: int, tracks: Sequence[int]) -> Iterator[dict[str, Any]]:
    cause, kind = schedule.cause[position], schedule.kind[position]
    if cause == NONE or kind == NONE or cause >= len(tracks):
        return
    for end, phase, when in ((cause, "s", _leaving(schedule, cause)), (position, "f", schedule.first[position])):
        lane = schedule.queue[end]
        yield {
            "ph": phase,
            "bp": "e",
            "id": position,
            "name": KINDS[kind],
            "cat": "dependency",
            "pid": lane // PER_CORE,
            "tid": tracks[end],
            "ts": when / 1e3,
        }
