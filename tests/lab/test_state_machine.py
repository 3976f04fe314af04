"""Any order of operations by two clients, with restarts and edits by hand between them: what holds in every state.

With NKI_ANVIL_ENDURANCE=1 forty long walks, else fewer.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lab_world import World, kernel

from nki_anvil.backends.errors import ReflexionRequired, Refusal
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory

SPEEDS = st.sampled_from([2.0, 5.0, 8.0, 9.0, 9.9, 10.1, 11.0, 20.0])
FAILS = st.sampled_from(["", "", "", "language", "machine", "values", "determinism"])
KERNELS = st.builds(kernel, SPEEDS, fails=FAILS, program=st.sampled_from(["", "", "a", "b"]))
CLIENTS = st.integers(0, 1)


class Machine(RuleBasedStateMachine):
    """One problem, two clients with a laboratory each, one working file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name))
        self.clients: list[Laboratory] = []
        self.given: set[str] = set()
        self.numbers: dict[str, int] = {}
        self.before = ""

    def teardown(self) -> None:
        self.folder.cleanup()

    def do(self, client: int, operation: str, *arguments: Any) -> Any:
        """One call of one client; None where the state machine refuses."""
        self.world.lab = self.clients[client]

        async def called() -> Any:
            return await getattr(self.world, operation)(*arguments)

        self.note_file()
        try:
            return self.checked(anyio.run(called))
        except ReflexionRequired:
            if not self.guard().closed:
                raise
        except Refusal:
            pass
        return None

    def checked(self, result: Any) -> Any:
        """Where a call changed the working file, the text that stood there is an attempt."""
        if self.world.file.read_text() != self.before:
            assert self.problem().attempts.of(digest(self.before)) is not None
        return result

    def note_file(self) -> None:
        """What stands in the working file when a tool is called must never be lost by it."""
        self.before = self.world.file.read_text()

    def problem(self) -> Any:
        return self.world.again().problem("p")

    def guard(self) -> Any:
        return self.problem().guard("modelled")

    @initialize(fails=FAILS)
    def open(self, fails: str) -> None:
        self.world.edit(kernel(10.0, fails=fails))
        self.clients = [self.world.again(), self.world.again()]
        self.do(0, "open")
        self.given.add(self.world.file.read_text())

    @rule(client=CLIENTS, text=KERNELS)
    def edit_and_verify(self, client: int, text: str) -> None:
        self.world.edit(text)
        if self.do(client, "verify") is not None:
            self.given.add(text)

    @rule(text=KERNELS)
    def edit_by_hand(self, text: str) -> None:
        self.world.edit(text)

    @rule(client=CLIENTS)
    def benchmark(self, client: int) -> None:
        text = self.world.file.read_text()
        result = self.do(client, "benchmark")
        if result is not None:
            self.given.add(text)
            assert result.outcome in ("keep", "revert", "undecided")

    @rule(client=CLIENTS, text=KERNELS)
    def verify_and_benchmark_a_source(self, client: int, text: str) -> None:
        verified = self.do(client, "verify", text)
        if verified is not None:
            self.given.add(text)
            result = self.do(client, "benchmark", text)
            assert verified.passed or result is None, "benchmarked without a passed verdict"
            assert self.world.file.read_text() == self.before or verified.restored or (result and result.restored)

    @rule(client=CLIENTS, texts=st.lists(KERNELS, min_size=1, max_size=4))
    def evaluate(self, client: int, texts: list[str]) -> None:
        if self.do(client, "evaluate", texts) is not None:
            self.given.update(texts)

    @rule(client=CLIENTS)
    def revert(self, client: int) -> None:
        if self.do(client, "revert") is not None:
            self.given.add(self.before)
            best = self.problem().best("modelled").read()
            assert digest(self.world.file.read_text()) == best.digest

    @rule(client=CLIENTS, data=st.data())
    def reflect(self, client: int, data: st.DataObject) -> None:
        count = len(self.problem().attempts.all())
        if count:
            self.do(client, "reflect", data.draw(st.integers(0, count - 1)))

    @precondition(lambda self: bool(self.clients) and self.guard().closed)
    @rule(client=CLIENTS)
    def answer_the_guard(self, client: int) -> None:
        self.do(client, "reflect", self.problem().attempts.of(self.guard().closed_by).number)
        assert not self.guard().closed
        assert self.do(client, "verify", kernel(10.0, note="after thinking")) is not None
        self.given.add(kernel(10.0, note="after thinking"))

    @rule(client=CLIENTS)
    def restart(self, client: int) -> None:
        self.clients[client] = self.world.again()

    @rule(client=CLIENTS)
    def finish(self, client: int) -> None:
        self.do(client, "finish")

    @invariant()
    def best_passed_and_was_kept(self) -> None:
        if not self.clients:
            return
        problem = self.problem()
        best = problem.best("modelled").read()
        if best is not None:
            attempt = problem.attempts.get(best.attempt)
            assert attempt.digest == best.digest
            assert any(verdict.passed for verdict in attempt.verdicts())
            assert best.receipt.comparison.outcome == "keep"
            assert best.digest == best.baseline.digest or best.receipt.comparison.best_digest is not None

    @invariant()
    def no_text_is_lost_and_no_attempt_is_renumbered(self) -> None:
        if not self.clients:
            return
        stored = self.problem().attempts.all()
        now = {attempt.digest: attempt.number for attempt in stored}
        assert [attempt.number for attempt in stored] == list(range(len(stored)))
        assert self.numbers.items() <= now.items()
        assert {digest(text) for text in self.given} <= now.keys()
        self.numbers = now

    @invariant()
    def the_guard_is_never_stuck(self) -> None:
        if self.clients and (now := self.guard()).closed:
            assert self.problem().attempts.of(now.closed_by) is not None
            assert now.why

    @invariant()
    def every_decision_follows_from_its_record(self) -> None:
        if self.clients:
            found = audit(self.world.again(), "p")
            assert found.clean, str(found)


def walked(examples: int, steps: int) -> Any:
    """The machine as a test case that tries so many walks."""
    case = type("Walks", (Machine.TestCase,), {})
    case.settings = settings(max_examples=examples, stateful_step_count=steps)
    return case


TestShortWalks = walked(12, 15)
TestLongWalks = pytest.mark.slow(walked(40 if os.environ.get("NKI_ANVIL_ENDURANCE") else 16, 30))
