"""Servers killed at random moments while every tool that writes is at work at once, and what they leave behind.

``python tests/endurance/kills.py FOLDER COUNT SEED worded|real`` prints a summary. Servers are forked from a process
that has loaded everything, so that a thousand take minutes. ``worded`` kernels say themselves what they are worth, and
nearly all of the time goes into state; ``real`` ones run on the simulator.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import lab_world
import line_server
import numpy as np
from lab_world import World
from mcp.server.subscriptions import InMemorySubscriptionBus

from nki_anvil.backends.child import ChildBackend
from nki_anvil.lab import diary
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.rules import Rules
from nki_anvil.memory.store import Store
from nki_anvil.server.application import Application
from nki_anvil.tools import catalogue
from nki_anvil.tools.desk import opened

assert catalogue.TOOLS, "everything is loaded before the first fork"
RULES = Rules(guard_refuses=False)
PER_WORKSPACE = 25
"""Kills before a fresh workspace: the proof reads every record each time."""
HARMLESS = ("gate.unverified", "memory.", "attempt.unknown")
"""Refusals that calls on kernels that were never judged must get."""
RESULT = "    nisa.dma_copy(dst=out, src=tile)\n"
WASTE = "    nisa.tensor_copy(dst=tile, src=tile)\n"


@dataclass
class Site:
    """A workspace with an open problem, and how to build a laboratory on it."""

    root: Path
    file: Path
    problem: str
    laboratory: Callable[[], Laboratory]
    kernel: Callable[[random.Random], str]
    crowned: set[int] = field(default_factory=set[int])
    """Attempts that are known to have been best."""


def worded(root: Path) -> Site:
    world = World(root, rules=RULES)
    anyio.run(world.open)

    def kernel(chance: random.Random) -> str:
        fails = "values" if chance.random() < 0.2 else ""
        return lab_world.kernel(round(chance.uniform(5, 12), 3), fails=fails, note=f"{chance.getrandbits(48):x}")

    return Site(root, world.file, "p", world.again, kernel)


def real(root: Path) -> Site:
    root.mkdir(parents=True)
    (root / "twice.py").write_text(line_server.REFERENCE)
    file = root / "kernel.py"
    file.write_text(line_server.KERNEL.replace(RESULT, 6 * WASTE + RESULT))

    def laboratory() -> Laboratory:
        return Laboratory(
            workspace=root, data=root / "data", backends={"simulator": ChildBackend(root / "data" / "jobs")},
            random=np.random.default_rng(), clock=lambda: datetime.now(UTC), rules=RULES,
        )  # fmt: skip

    async def begin() -> None:
        await open_problem(laboratory(), "twice.py", kernel_path="kernel.py")

    def kernel(chance: random.Random) -> str:
        text = line_server.KERNEL.replace(RESULT, WASTE * chance.randrange(6) + RESULT)
        text = text.replace("2.0", "2.5") if chance.random() < 0.2 else text
        return f"{text}# {chance.getrandbits(48):x}\n"

    anyio.run(begin)
    return Site(root, file, "twice", laboratory, kernel)


@dataclass
class Victim:
    """A server that was forked, with everything that it was asked and has answered."""

    site: Site
    pid: int = 0
    asked: dict[int, str] = field(default_factory=dict[int, str])
    """The kernel's text of each call that has one."""
    heard: bytes = b""

    def start(self) -> None:
        to_server, mine = os.pipe()
        theirs, from_server = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            with suppress(BaseException):
                for old, new in ((mine, -1), (theirs, -1), (to_server, 0), (from_server, 1)):
                    os.close(old) if new < 0 else os.dup2(old, new)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                anyio.run(_serve, self.site)
            os._exit(0)
        os.close(to_server)
        os.close(from_server)
        self._input, self._output = os.fdopen(mine, "w"), theirs
        self._send(id=0, method="initialize", params=line_server.HELLO)
        self._send(method="notifications/initialized")

    def call(self, tool: str, text: str = "", **arguments: Any) -> None:
        number = len(self.asked) + 1
        self.asked[number] = text
        self._send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})

    def hear(self, seconds: float, *, all_of_it: bool = False) -> None:
        """For so long, or until every call was answered."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and select.select([self._output], [], [], left)[0]:
            chunk = os.read(self._output, 1 << 16)
            self.heard += chunk
            if not chunk or (all_of_it and len(self.answers()) == len(self.asked)):
                return

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        while chunk := os.read(self._output, 1 << 16):
            self.heard += chunk
        os.close(self._output)
        with suppress(OSError):
            self._input.close()

    def answers(self) -> dict[int, dict[str, Any]]:
        """By the number of the call."""
        whole = self.heard.rpartition(b"\n")[0].splitlines()
        messages = [json.loads(line) for line in whole]
        return {one["id"]: one["result"] for one in messages if one.get("id") and "result" in one}

    def _send(self, **message: Any) -> None:
        self._input.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._input.flush()


async def _serve(site: Site) -> None:
    async with opened(site.laboratory, lambda: Store.open(site.root / "data")) as desk:
        await Application(desk, InMemorySubscriptionBus()).run_stdio_async()


@dataclass
class Kills:
    folder: Path
    build: Callable[[Path], Site]
    chance: random.Random
    longest_s: float = 0.0
    done: int = 0
    answered: int = 0
    calls: int = 0
    in_the_middle: int = 0
    file_holds: Counter[str] = field(default_factory=Counter[str])
    bests: int = 0

    def run(self, count: int) -> None:
        """Raises AssertionError at the first state that is not sound, with the seed's place in it."""
        while self.done < count:
            site = self.build(self.folder / f"{self.done}")
            known = [site.kernel(self.chance) for _ in range(3)]
            if not self.longest_s:
                self.longest_s = 1.1 * self._whole(site, known)
            for _ in range(min(PER_WORKSPACE, count - self.done)):
                typed = self._one(site, known)
                self.done += 1
                self._sound(site, typed)

    def _whole(self, site: Site, known: list[str]) -> float:
        victim, began = Victim(site), time.monotonic()
        victim.start()
        self._ask(victim, site, known)
        victim.hear(120, all_of_it=True)
        took = time.monotonic() - began
        victim.kill()
        assert len(victim.answers()) == len(victim.asked), "a server that nobody killed did not answer"
        return took

    def _one(self, site: Site, known: list[str]) -> str:
        """One server, asked everything at once and killed; returns what the user typed last."""
        typed = site.kernel(self.chance)
        site.file.write_text(typed)
        victim = Victim(site)
        victim.start()
        self._ask(victim, site, known)
        victim.hear(self.chance.uniform(0, self.longest_s))
        victim.kill()
        self._reap()
        answers = victim.answers()
        self.calls += len(victim.asked)
        self.answered += len(answers)
        self.in_the_middle += len(answers) < len(victim.asked)
        stored = site.laboratory().problem(site.problem).attempts
        for number, answer in answers.items():
            if answer.get("isError"):
                said = answer["content"][0]["text"]
                assert said.rpartition("[")[2].startswith(HARMLESS), said
            elif victim.asked[number] and (told := answer["structuredContent"]).get("attempt") is not None:
                attempt = stored.get(told["attempt"])
                assert attempt.text() == victim.asked[number], "an attempt that was answered for is lost"
        return typed

    def _ask(self, victim: Victim, site: Site, known: list[str]) -> None:
        """Every tool that writes, in random order; what was new this time is old the next."""
        new, judged = site.kernel(self.chance), self.chance.choice(known)
        known[self.chance.randrange(len(known))] = new
        problem = {"problem": site.problem}
        calls: list[Callable[[], None]] = [
            lambda: victim.call("verify_kernel", **problem),
            lambda: victim.call("verify_kernel", new, source=new, **problem),
            lambda: victim.call("verify_kernel", judged, source=judged, **problem),
            lambda: victim.call("benchmark_kernel", judged, source=judged, **problem),
            lambda: victim.call("evaluate_candidates", kernels=[judged, site.kernel(self.chance)], **problem),
            lambda: victim.call("revert_to_best", **problem),
            lambda: victim.call("query_memory", text="rows"),
            lambda: victim.call(
                "record_reflexion", attempt=0, diagnosis="d", change="c", expected="e", lesson="l", **problem
            ),
            lambda: victim.call(
                "add_experience", kind="pitfall", title=f"Number {self.chance.getrandbits(40):x}", when_to_use="rows",
                advice=f"Never copy {self.chance.getrandbits(30)} tiles onto themselves.",
            ),
        ]  # fmt: skip
        self.chance.shuffle(calls)
        for call in calls:
            call()

    def _sound(self, site: Site, typed: str) -> None:
        lab = site.laboratory()
        problem = lab.problem(site.problem)
        stored = problem.attempts.all()
        by_number = {attempt.number: attempt for attempt in stored}
        assert len(by_number) == len(stored), "a number was given twice"
        assert list(by_number) == sorted(by_number)
        assert all(digest(attempt.text()) == attempt.digest for attempt in stored)
        found = audit(lab, site.problem)
        assert found.clean, str(found)
        best = problem.best("modelled").read()
        assert best is not None
        assert any(verdict.passed for verdict in by_number[best.attempt].verdicts()), "best was never verified"
        replaced = problem.attempts.of(best.receipt.replaced) if best.receipt.replaced else None
        site.crowned |= {0, best.attempt} | ({replaced.number} if replaced else set())
        site.crowned |= {line["attempt"] for line in diary.history(problem.folder) if line["event"] == "best"}
        held = site.file.read_text()
        whose = problem.attempts.of(digest(held))
        known = held == typed or (whose is not None and whose.number in site.crowned)
        assert known, f"the working file holds {whose and (whose.number, whose.comparisons())}, not {site.crowned}"
        self.file_holds[
            "typed" if held == typed else "best" if held == by_number[best.attempt].text() else "was best"
        ] += 1
        self.bests = max(self.bests, best.revision)
        Store.open(site.root / "data").close()
        with sqlite3.connect(site.root / "data" / "memory.sqlite") as memory:
            assert memory.execute("PRAGMA quick_check(1)").fetchone()

    @staticmethod
    def _reap() -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def __str__(self) -> str:
        return (
            f"{self.done} kills, {self.in_the_middle} of them in the middle of calls; {self.answered} of {self.calls} "
            f"calls had been answered; the working file held {dict(self.file_holds)}; best changed up to {self.bests} "
            f"times in a workspace"
        )


if __name__ == "__main__":
    place, count, seed, kind = sys.argv[1:]
    kills = Kills(Path(place), real if kind == "real" else worded, random.Random(int(seed)))
    kills.run(int(count))
    print(kills)  # noqa: T201
