"""Eight clients at once for as long as is asked: mixed tools, cancellations and kills, on one workspace and one memory.

Four speak to one server over HTTP, which lives to the end, and four have servers of their own, which are killed.
``python tests/endurance/crowd.py FOLDER SECONDS PAUSE [SEED]`` prints what came of it; pauses (s) make it gentler.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sqlite3
import subprocess
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
import numpy as np
from line_server import KERNEL, REFERENCE
from mcp import Client, StdioServerParameters, stdio_client
from processes import command, descendants

from nki_anvil.lab.auditing import audit
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory

OWN = Path(__file__).parent
RESULT = "    nisa.dma_copy(dst=out, src=tile)\n"
WASTE = "    nisa.tensor_copy(dst=tile, src=tile)\n"
PROBLEMS = ("twice", "double")
HTTP, STDIO = 4, 4
PATIENCE_S = 30.0
"""What a killed server's workers may take to notice."""
LONGEST_S = 600.0
"""What a slow machine may take beyond what was asked until its clients were told enough."""
FALSE_ALARM = "NULL value in shown.experience"
"""SQLite 3.40 says so of a sound table without row ids whose key leaves a middle column out."""
EXPECTED = ("guard.", "gate.unverified", "attempt.unknown", "backend.", "memory.", "experience.", "arguments.")
"""Refusals that such a crowd has to expect."""


def kernel(chance: random.Random) -> str:
    """Right, wrong or broken, and never the same twice."""
    text = KERNEL.replace(RESULT, WASTE * chance.randrange(4) + RESULT)
    spoiled = chance.random()
    if spoiled < 0.2:
        text = text.replace("2.0", "2.5")
    elif spoiled < 0.3:
        text = text.replace("return out", "return missing")
    return f"{text}# {chance.getrandbits(64):016x}\n"


def running() -> dict[int, str]:
    """The processes below this one, with their command lines; those that have ended are left out."""
    return {process: said for process in descendants(os.getpid()) if (said := command(process))}


@dataclass
class Soak:
    folder: Path
    seconds: float
    pause_s: float = 0.0
    seed: int = 11
    verdicts: int = 6
    """It goes on until clients were told so many, however slow the machine: a crowd told nothing proves nothing."""
    calls: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    unexpected: list[str] = field(default_factory=list[str])
    answered: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """What a client was told: problem and attempt, and the kernel's text."""
    passed: dict[tuple[str, int], bool] = field(default_factory=dict[tuple[str, int], bool])
    cancelled: int = 0
    killed: Counter[str] = field(default_factory=Counter[str])
    ends: float = 0.0

    @property
    def data(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-data")

    @property
    def over(self) -> bool:
        late = time.monotonic() - self.ends
        return late > 0 and (len(self.answered) >= self.verdicts or late > LONGEST_S)

    def environment(self) -> dict[str, str]:
        own = {"NKI_ANVIL_WORKSPACE": str(self.folder), "NKI_ANVIL_DATA": str(self.data)}
        rules = {"NKI_ANVIL_GUARD_REFUSES": "false", "NKI_ANVIL_ATTEMPTS_LIMIT": "1000000"}
        return {**os.environ, **own, **rules}

    def command(self, report: str, *arguments: str) -> list[str]:
        return [sys.executable, "-P", str(OWN / "watched_server.py"), str(self.folder / report), *arguments]

    async def run(self) -> dict[str, Any]:
        """Raises AssertionError for whatever must not be."""
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us, and are seen
        self._write_problems()
        others = await anyio.to_thread.run_sync(running)
        began = time.monotonic()
        with self._server() as url:
            async with Client(url, mode="legacy") as client:
                for problem in PROBLEMS:
                    await client.call_tool(
                        "open_problem", {"reference": f"{problem}.py", "kernel_path": f"{problem}_kernel.py"}
                    )
            self.ends = time.monotonic() + self.seconds
            async with anyio.create_task_group() as group:
                for number in range(HTTP):
                    group.start_soon(self._client, number, lambda url=url: Client(url, mode="legacy"))
                for number in range(HTTP, HTTP + STDIO):
                    group.start_soon(self._client, number, lambda number=number: Client(self._own_server(number)))
                group.start_soon(self._kill)
        orphans = await self._orphans(frozenset(others))
        return {"wall_s": time.monotonic() - began, "orphans": orphans, **self._told(), **self._state()}

    def _write_problems(self) -> None:
        for problem in PROBLEMS:
            (self.folder / f"{problem}.py").write_text(REFERENCE + f"# {problem}\n")
            (self.folder / f"{problem}_kernel.py").write_text(KERNEL + f"# {problem}\n")

    def _server(self) -> Any:
        return Served(self.command("http.jsonl", "serve", "--http", "--port", "0"), self.environment())

    def _own_server(self, number: int) -> Any:
        command, *arguments = self.command(f"stdio{number}.jsonl", "serve")
        parameters = StdioServerParameters(command=command, args=arguments, env=self.environment())
        return stdio_client(parameters, errlog=(self.folder / f"stdio{number}.err").open("a"))

    async def _client(self, number: int, connect: Callable[[], Client]) -> None:
        """Comes back when its server was killed."""
        chance = random.Random(self.seed * 100 + number)
        while not self.over:
            try:
                async with connect() as client:
                    await self._work(client, number, chance)
            except BaseException as error:  # whatever a killed server's connection ends with
                if number < HTTP or isinstance(error, (KeyboardInterrupt, SystemExit)):
                    raise
                self.refusals["connection lost"] += 1

    async def _work(self, client: Client, number: int, chance: random.Random) -> None:
        while not self.over:
            tool, arguments = self._asked(chance, number)
            patience = chance.expovariate(1.5) if chance.random() < 0.2 else None
            with anyio.move_on_after(patience) as scope:
                await self._call(client, tool, arguments)
            self.cancelled += scope.cancelled_caught
            if self.pause_s:
                await anyio.sleep(chance.expovariate(1 / self.pause_s))

    def _asked(self, chance: random.Random, number: int) -> tuple[str, dict[str, Any]]:
        problem = chance.choice(PROBLEMS)
        known = [one for one in self.answered if one[0] == problem]
        attempt = chance.choice(known)[1] if known else 0
        tool = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        given: dict[str, Any] = {"problem": problem}
        match tool:
            case "verify_kernel":
                given |= {"source": kernel(chance), "plan": f"of client {number}"}
            case "benchmark_kernel" | "profile_kernel":
                given |= {"source": self.answered.get((problem, attempt), KERNEL)}
            case "evaluate_candidates":
                given |= {"kernels": [kernel(chance) for _ in range(chance.randrange(1, 4))]}
            case "record_reflexion":
                given |= dict.fromkeys(("diagnosis", "change", "expected", "lesson"), "x") | {"attempt": attempt}
            case "add_experience":
                given = {"kind": "pitfall", "title": f"What {chance.getrandbits(48):x} taught", "when_to_use": "rows"}
                given |= {"advice": f"Never copy a tile {chance.getrandbits(20)} times onto itself."}
            case "query_memory":
                given |= {"text": "copies of tiles"}
            case "open_problem":
                given = {"reference": f"{problem}.py", "kernel_path": f"{problem}_kernel.py"}
            case _:
                pass
        if tool in ("verify_kernel", "evaluate_candidates") and chance.random() < 0.1:
            given["detach"] = True
        return tool, given

    async def _call(self, client: Client, tool: str, arguments: dict[str, Any]) -> None:
        answer = await client.call_tool(tool, arguments)
        self.calls[tool] += 1
        if answer.is_error:
            said = answer.content[0].text  # type: ignore[union-attr]
            code = said.rpartition("[")[2].rstrip("]\n ")
            self.refusals[code] += 1
            if not code.startswith(EXPECTED):
                self.unexpected.append(f"{tool}: {said[:300]}")
        elif tool == "verify_kernel" and answer.structured_content and answer.structured_content["attempt"] is not None:
            told = answer.structured_content
            key = (arguments["problem"], told["attempt"])
            self.answered[key], self.passed[key] = arguments["source"], told["passed"]

    async def _kill(self) -> None:
        chance = random.Random(self.seed)
        every_s = max(2.0, self.seconds / 120)
        while not self.over:
            await anyio.sleep(chance.expovariate(1 / every_s))
            every = await anyio.to_thread.run_sync(running)
            servers = [pid for pid, said in every.items() if "/stdio" in said and "watched_server" in said]
            workers = [pid for pid, said in every.items() if "bootstrap.py" in said]
            kind, able = ("server", servers) if chance.random() < 0.4 else ("worker", workers)
            if able:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(able), signal.SIGKILL)
                    self.killed[kind] += 1

    async def _orphans(self, others: frozenset[int]) -> list[str]:
        """What still runs a while after everybody has gone, but for what ran before they came."""
        until = time.monotonic() + PATIENCE_S
        while True:
            every = await anyio.to_thread.run_sync(running)
            left = [said for process, said in every.items() if process not in others]
            if not left or time.monotonic() > until:
                return left

    def _told(self) -> dict[str, Any]:
        return {
            "calls": sum(self.calls.values()), "by_tool": dict(self.calls), "refusals": dict(self.refusals),
            "unexpected": self.unexpected[:10], "cancelled": self.cancelled, "killed": dict(self.killed),
        }  # fmt: skip

    def _state(self) -> dict[str, Any]:
        """What is stored against what was told."""
        lab = Laboratory(
            workspace=self.folder, data=self.data, backends={}, random=np.random.default_rng(),
            clock=lambda: datetime.now(UTC),
        )  # fmt: skip
        lost, changed, faults, unverified = 0, 0, list[str](), 0
        attempts = 0
        for name in PROBLEMS:
            problem = lab.problem(name)
            stored = {attempt.number: attempt for attempt in problem.attempts.all()}
            attempts += len(stored)
            found = audit(lab, name)
            faults += [] if found.clean else [str(found)]
            best = problem.best("modelled").read()
            unverified += best is None or not any(v.passed for v in stored[best.attempt].verdicts())
            for (of, number), text in self.answered.items():
                if of == name:
                    attempt = stored.get(number)
                    lost += attempt is None or attempt.text() != text or attempt.digest != digest(text)
                    told = self.passed[of, number]
                    changed += attempt is not None and not any(v.passed == told for v in attempt.verdicts())
        with sqlite3.connect(self.data / "memory.sqlite") as memory:
            checked = {line for (line,) in memory.execute("PRAGMA integrity_check")} - {FALSE_ALARM}
            experiences = memory.execute("SELECT COUNT(*) FROM experiences").fetchone()[0]
        return {
            "attempts": attempts, "answered": len(self.answered), "lost": lost, "changed": changed, "faults": faults,
            "best_unverified": unverified, "memory": sorted(checked - {"ok"}), "experiences": experiences,
            **self._watched(),
        }  # fmt: skip

    def _watched(self) -> dict[str, Any]:
        lines = [json.loads(line) for line in (self.folder / "http.jsonl").read_text().splitlines()]
        late = lines[len(lines) // 4 :]
        every = [
            line for path in self.folder.glob("*.jsonl") for line in map(json.loads, path.read_text().splitlines())
        ]
        worst = max(every, key=lambda line: line["blocked_s"])
        return {
            "rss_mb": [round(line["rss"] / 1e6, 1) for line in (lines[0], late[0], lines[-1])],
            "rss_most_mb": round(max(line["rss"] for line in lines) / 1e6, 1),
            "files": [late[0]["files"], max(line["files"] for line in lines), lines[-1]["files"]],
            "threads_most": max(line["threads"] for line in lines),
            "blocked_ms": round(1e3 * worst["blocked_s"], 1),
            "late_ms": round(1e3 * max(line["late_s"] for line in every), 1),
            "culprits": worst["culprits"],
        }


WEIGHTS = {
    "verify_kernel": 8, "benchmark_kernel": 4, "evaluate_candidates": 2, "profile_kernel": 2, "problem_status": 4,
    "record_reflexion": 2, "add_experience": 2, "query_memory": 3, "revert_to_best": 1, "open_problem": 1,
}  # fmt: skip


class Served:
    """A server over HTTP while the block runs."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._command, self._environment = command, environment

    def __enter__(self) -> str:
        report = Path(self._command[3])
        self._errors = report.with_suffix(".err").open("w+")
        self._process = subprocess.Popen(self._command, env=self._environment, stderr=self._errors, text=True)
        while True:
            said = report.with_suffix(".err").read_text()
            if "listening on " in said:
                return said.partition("listening on ")[2].split()[0]
            assert self._process.poll() is None, said

    def __exit__(self, *_: object) -> None:
        assert self._process.poll() is None, "the server has ended by itself"
        self._process.terminate()
        assert self._process.wait(timeout=30) == 0
        self._errors.close()


if __name__ == "__main__":
    place, seconds, pause, *seed = sys.argv[1:]
    Path(place).mkdir(parents=True, exist_ok=True)
    found = anyio.run(Soak(Path(place), float(seconds), float(pause), int(seed[0]) if seed else 11).run)
    print(json.dumps(found, indent=1))  # noqa: T201
