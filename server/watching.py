"""``nki-anvil watch``: a quick look at every save, and all nine gates when asked."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
from pydantic import BaseModel

from nki_anvil.backends.errors import AnvilError
from nki_anvil.lab.looking import Looked, file_of, look
from nki_anvil.server.console import Console
from nki_anvil.server.phrasing import phrased
from nki_anvil.tools.call import Call
from nki_anvil.tools.desk import Desk
from nki_anvil.tools.verify_kernel import verify_kernel
from nki_anvil.tools.wording import microseconds, times

PAUSE_S: Final = 0.1
"""Between two looks at the file: below what a person notices, and nothing for the machine."""
HELP: Final = "Watching {}. Every save gets a quick look; Enter runs all nine gates; Ctrl-C ends."


class Glance(BaseModel):
    """What a quick look found. It is no verdict."""

    digest: str
    right_so_far: bool
    verified: bool
    """By all nine gates, now or before."""
    gate: str | None
    detail: str
    hint: str
    line: int | None
    latency_us: float | None
    best_latency_us: float | None
    origin: str
    seconds: float

    @classmethod
    def of(cls, looked: Looked) -> Glance:
        verdict = looked.verdict
        failed = next((gate for gate in verdict.gates if gate.passed is False), None)
        return cls(
            digest=verdict.kernel_digest,
            right_so_far=verdict.passed,
            verified=verdict.passed and verdict.full,
            gate=failed.name if failed else None,
            detail=failed.detail if failed else "",
            hint=verdict.hint,
            line=failed.line if failed else None,
            latency_us=looked.latency_us,
            best_latency_us=looked.best_latency_us,
            origin=verdict.origin,
            seconds=round(looked.seconds, 3),
        )

    def __str__(self) -> str:
        took = f"{self.seconds:.1f} s"
        if not self.right_so_far:
            return f"wrong at gate '{self.gate}': {self.detail}{f' {self.hint}' if self.hint else ''} ({took})"
        said = "verified" if self.verified else "right so far, two cases; Enter verifies"
        return f"{said}{self._speed()} ({took})"

    def _speed(self) -> str:
        if self.latency_us is None:
            return ""
        best = f", {times(self.best_latency_us / self.latency_us)} of best" if self.best_latency_us else ""
        return f"; {microseconds(self.latency_us)} {self.origin}{best}"


async def watch(desk: Desk, console: Console, problem: str, kernel: str | None, *, once: bool, full: bool) -> bool:
    """Looks now and after every save, until it is cancelled; with `once` only now. Whether the last look was right.

    Raises AnvilError where there is nothing to watch, and with `once` whatever goes wrong; else that is said, and the
    next save is waited for.
    """
    path = await file_of(await desk.laboratory(), problem, kernel)

    async def judge() -> bool:
        with console.progress() as report:
            verdict = await verify_kernel(Call(desk, report), problem, kernel_path=kernel)
        console.show(verdict, problem)
        return bool(verdict.passed)

    async def glance() -> bool:
        with console.progress() as report:
            seen = Glance.of(await look(await desk.laboratory(), problem, kernel_path=kernel, report=report))
        console.tell(seen, good=seen.right_so_far)
        return seen.right_so_far

    on_save = judge if full else glance
    if once:
        return await on_save()
    console.note(HELP.format(path))
    await _until_cancelled(path, on_save, judge, lambda error: console.complain(phrased(error.text, problem)))
    return True


async def _until_cancelled(
    path: Path,
    on_save: Callable[[], Awaitable[bool]],
    on_enter: Callable[[], Awaitable[bool]],
    complain: Callable[[AnvilError], None],
) -> None:
    busy = anyio.Lock()

    async def run(work: Callable[[], Awaitable[bool]]) -> None:
        async with busy:
            try:
                await work()
            except AnvilError as error:
                complain(error)

    async def listen() -> None:
        async for _ in lines():
            await run(on_enter)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        async for _ in saves(path):
            await run(on_save)


async def saves(path: Path) -> AsyncGenerator[None]:
    """Once now, and whenever the file is there and is another than before."""
    known = None
    while True:
        state = _state(path)
        if state is not None and state != known:
            known = state
            yield
        else:
            await anyio.sleep(PAUSE_S)


def _state(path: Path) -> tuple[int, int, int] | None:
    """Changes when an editor writes the file or puts another in its place; None while there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


async def lines() -> AsyncGenerator[str]:
    """What a person types; ends with their input. A stdin that cannot be waited for says nothing."""
    while True:
        try:
            await anyio.wait_readable(sys.stdin)
        except (OSError, ValueError):
            return
        text = os.read(sys.stdin.fileno(), 4096)
        if not text:
            return
        yield text.decode("utf-8", "replace")
