"""``nki-anvil doctor HOST``, ``setup HOST`` and ``selftest HOST``: one host looked at, prepared, or tested."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel

from nki_anvil.backends.ssh import examining
from nki_anvil.backends.ssh import selftest as selftests
from nki_anvil.backends.ssh.hosts import Host, HostSettings, parse
from nki_anvil.backends.ssh.session import Session, connected
from nki_anvil.backends.ssh.transport import LocalTransport, SshTransport
from nki_anvil.server.console import Console
from nki_anvil.server.settings import load
from nki_anvil.server.version import VERSION


class Looked(BaseModel):
    """One thing that was looked at."""

    name: str
    passed: bool | None
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        mark = {True: "yes", False: "NO ", None: "?  "}[self.passed]
        lines = [f"  {mark}  {self.name}: {self.found}", *([f"       {self.remedy}"] if self.remedy else [])]
        return "\n".join(lines)


class HostReport(BaseModel):
    """What was found on a host. ``stand_in`` says that it is none with devices."""

    version: str = VERSION
    host: str
    at: str
    stand_in: str = ""
    steps: list[Looked]
    settings: str = ""
    """What belongs into the settings file."""
    facts: dict[str, Any] = {}
    files: list[str] = []

    def __bool__(self) -> bool:
        return all(step.passed is not False for step in self.steps)

    def __str__(self) -> str:
        head = [f"{self.host}, {self.at}, nki-anvil {self.version}"]
        head += [f"A STAND-IN, no measurement: {self.stand_in}"] if self.stand_in else []
        tail = [f"for nki-anvil.toml:\n{self.settings}"] if self.settings else []
        tail += [f"Send back {' and '.join(self.files)}."] if self.files else []
        return "\n".join([*head, *map(str, self.steps), *tail])


def doctor(given: dict[str, Any], name: str) -> HostReport:
    """Connection, Python, SDK, profiler, cores, disk, clock: what is missing and how to get it."""
    return anyio.run(_looked, given, name)


def setup(given: dict[str, Any], name: str) -> HostReport:
    """Install the worker and find the Pythons; again is harmless. Raises what the connection raises."""
    return anyio.run(_prepared, given, name)


def selftest(given: dict[str, Any], console: Console, name: str, to: Path) -> HostReport:
    """Test every assumption about the host, and write a report for people and one for machines into ``to``."""
    return anyio.run(_tested, given, console, name, to)


def session_of(given: dict[str, Any], name: str) -> Session:
    """The host as the settings know it; ``local`` is this machine. Raises ArgumentsInvalid."""
    settings = load(**given)
    if name == "local":
        own = Host(name, "localhost", None, None, simulate=False, settings=settings.remote.get(name, HostSettings()))
        return Session(own, LocalTransport(own))
    host = parse(name, settings.remote)[0]
    return Session(host, SshTransport(host))


async def _looked(given: dict[str, Any], name: str) -> HostReport:
    if name == "ray":
        from nki_anvil.backends.cluster.examining import examine

        return _report(name, await examine(load(**given).ray), {})
    async with connected(session_of(given, name)) as session:
        steps, facts = await examining.examine(session)
        return _report(session.host.name, steps, facts)


async def _prepared(given: dict[str, Any], name: str) -> HostReport:
    async with connected(session_of(given, name)) as session:
        await session.install()
        steps, facts = await examining.examine(session)
        found = _report(session.host.name, steps, facts)
        return found.model_copy(update={"settings": examining.toml(session, facts) if facts else ""})


async def _tested(given: dict[str, Any], console: Console, name: str, to: Path) -> HostReport:
    async with connected(session_of(given, name)) as session:
        steps, facts = await examining.examine(session)
        if facts and steps[1].passed:
            with console.progress() as report:
                steps += await selftests.selftest(session, facts, report)
        found = _report(session.host.name, steps, facts)
    stem = "selftest-" + "".join(letter if letter.isalnum() else "-" for letter in name)
    files = [to / f"{stem}.json", to / f"{stem}.txt"]
    found = found.model_copy(update={"facts": facts, "files": list(map(str, files))})
    await anyio.to_thread.run_sync(_write, found, files)
    return found


def _write(found: HostReport, files: list[Path]) -> None:
    files[0].parent.mkdir(parents=True, exist_ok=True)
    files[0].write_text(found.model_dump_json(indent=1))
    files[1].write_text(f"{found}\n")


def _report(name: str, steps: list[examining.Step], facts: dict[str, Any]) -> HostReport:
    return HostReport(
        host=name,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        stand_in=str(facts.get("stand_in", "")),
        steps=[Looked(name=s.name, passed=s.passed, found=s.found, remedy=s.remedy) for s in steps],
    )
