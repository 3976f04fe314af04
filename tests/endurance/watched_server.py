"""A server that watches its own event loop, memory and files: ``watched_server.py REPORT serve ...``.

A callback blocks the loop for as long as it takes, less what this process's threads waited for a processor meanwhile:
that is the machine's doing and not ours. The report is one JSON line per second.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

SUSPECT_S = 0.05
"""A callback that takes longer is looked at while it runs."""


class Watch:
    def __init__(self, report: Path) -> None:
        self.report = report
        self.longest_s = 0.0
        self.late_s = 0.0
        """Longest with the machine's share in it."""
        self.culprits: list[dict[str, Any]] = []
        self.began = 0.0
        self.seen: list[str] = []
        self.delayed_before_s = 0.0
        """When it was last looked; a look is younger than ``SUSPECT_S / 2``."""
        self._main = threading.main_thread().ident

    @staticmethod
    def delayed_s() -> float:
        """What the threads have waited for a processor so far: any of them may hold the interpreter meanwhile."""
        waited = 0
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):
                waited += int((task / "schedstat").read_text().split()[1])
        return waited / 1e9

    def install(self) -> None:
        real, watch = asyncio.Handle._run, self

        def run(handle: asyncio.Handle) -> None:
            watch.began = time.perf_counter()
            try:
                real(handle)
            finally:
                wall, watch.began = time.perf_counter() - watch.began, 0.0
                if wall > SUSPECT_S:
                    waited = max(0.0, watch.delayed_s() - watch.delayed_before_s)  # less where a thread has ended
                    watch.note(wall, wall - waited, handle)
                watch.seen = []

        asyncio.Handle._run = run  # type: ignore[method-assign]
        threading.Thread(target=self.look, daemon=True).start()

    def note(self, wall: float, blocked: float, handle: asyncio.Handle) -> None:
        self.late_s = max(self.late_s, wall)
        if blocked > self.longest_s or blocked > 0.1:
            culprit: dict[str, Any] = {
                "blocked_s": blocked,
                "wall_s": wall,
                "what": repr(handle)[:300],
                "stack": self.seen,
            }
            self.culprits = sorted([*self.culprits, culprit], key=lambda one: -one["blocked_s"])[:8]
        self.longest_s = max(self.longest_s, blocked)

    def look(self) -> None:
        told = 0.0
        while True:
            time.sleep(SUSPECT_S / 2)
            now = time.perf_counter()
            if not self.began or now - self.began < SUSPECT_S / 2:
                self.delayed_before_s = self.delayed_s()
            elif now - self.began > SUSPECT_S and not self.seen:
                frame = sys._current_frames().get(self._main or 0)
                self.seen = traceback.format_stack(frame)[-14:] if frame else []
            if now - told > 1:
                told = now
                self.write()

    def write(self) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        line = {
            "at": time.time(), "rss": pages * os.sysconf("SC_PAGE_SIZE"),
            "files": len([*Path("/proc/self/fd").iterdir()]),
            "threads": threading.active_count(), "blocked_s": self.longest_s, "late_s": self.late_s,
            "culprits": self.culprits,
        }  # fmt: skip
        with self.report.open("a") as stream:
            stream.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    Watch(Path(sys.argv.pop(1))).install()
    from nki_anvil.server.main import main

    main()
