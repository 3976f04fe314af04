"""What runs on this machine below a process, read from /proc."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def descendants(parent: int) -> list[int]:
    """Every process that descends from this one, the nearest first, with those that ended and nobody waited for."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            above = int(status.read_text().rpartition(")")[2].split()[1])
            children[above].append(int(status.parent.name))
    found = [parent]
    for process in found:  # grows meanwhile
        found += children[process]
    return found[1:]


def command(pid: int) -> str:
    """The command line of a process; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
