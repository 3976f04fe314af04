"""The schedule as trace-event JSON: what Perfetto and chrome://tracing open.

One track per engine and per queue of transfers, each event with its source line, arrows where an instruction waited for
another. Times are microseconds, as the format wants them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from nki_anvil.sim.costs.dependencies import RAW, REUSE, WAR, WAW
from nki_anvil.sim.costs.transfers import Transfers
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import NONE, Program
from nki_anvil.sim.queues import PER_CORE, QUEUES
from nki_anvil.sim.schedule import Schedule

KINDS: Final = {RAW: "read after write", WAR: "write after read", WAW: "write after write", REUSE: "reuse of space"}
MAX_EVENTS: Final = 50_000
"""Beyond this the drawing ends; a viewer gains nothing from more."""


def draw(program: Program, schedule: Schedule, moved: Transfers) -> str:
    """The JSON text."""
    events = [*_tracks(schedule)]
    sizes = dict(zip(moved.rows.tolist(), moved.size.tolist(), strict=True))
    for position in range(min(len(schedule.order), MAX_EVENTS)):
        events.append(_event(program, schedule, position, sizes))
        events.extend(_arrow(schedule, position, sizes))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))


def _track(lane: int, is_transfer: bool) -> int:
    return lane + (PER_CORE * 2 if is_transfer else 0)


def _tracks(schedule: Schedule) -> Iterator[dict[str, Any]]:
    for lane in sorted(set(schedule.queue)):
        core, name = lane // PER_CORE, QUEUES[lane % PER_CORE]
        for is_transfer in (False, True):
            title = name if name.startswith("dma") else f"dma from {name}" if is_transfer else name
            yield {
                "ph": "M",
                "name": "thread_name",
                "pid": core,
                "tid": _track(lane, is_transfer),
                "args": {"name": title},
            }


def _event(program: Program, schedule: Schedule, position: int, sizes: dict[int, int]) -> dict[str, Any]:
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
        "tid": _track(lane, is_transfer),
        "ts": start / 1e3,
        "dur": (end - start) / 1e3,
        "args": details,
    }


def _arrow(schedule: Schedule, position: int, sizes: dict[int, int]) -> Iterator[dict[str, Any]]:
    cause, kind = schedule.cause[position], schedule.kind[position]
    if cause == NONE or kind == NONE:
        return
    for end, phase, when in ((cause, "s", schedule.release[cause]), (position, "f", schedule.first[position])):
        lane = schedule.queue[end]
        is_transfer = schedule.order[end] in sizes
        yield {
            "ph": phase,
            "bp": "e",
            "id": position,
            "name": KINDS[kind],
            "cat": "dependency",
            "pid": lane // PER_CORE,
            "tid": _track(lane, is_transfer),
            "ts": when / 1e3,
        }
