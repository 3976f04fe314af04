"""A server that is killed at any moment of a benchmark leaves state that can be read and in which nothing is lost."""

from __future__ import annotations

import os
import random
import select
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from line_server import KERNEL, REFERENCE, Server

from nki_anvil.backends.noisy import SWITCH
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.digest import digest
from nki_anvil.lab.laboratory import Laboratory

KILLS = 100 if os.environ.get("NKI_ANVIL_ENDURANCE") else 5
NOISY = {SWITCH: "1", "NKI_ANVIL_BACKEND": "noisy", "NKI_ANVIL_GUARD_REFUSES": "false"}
WASTE = "    nisa.tensor_copy(dst=tile, src=tile)\n"
RESULT = "    nisa.dma_copy(dst=out, src=tile)\n"


def kernel(waste: int) -> str:
    """The same result after so many needless copies."""
    return KERNEL.replace(RESULT, WASTE * waste + RESULT)


def kill_at_random(server: Server, longest_s: float, chance: random.Random) -> bool:
    """Ends the server somewhere in the call that it is at; whether it had answered before."""
    until = time.monotonic() + chance.uniform(0, longest_s)
    answered = False
    while not answered and (left := until - time.monotonic()) > 0:
        if select.select([server.output], [], [], left)[0]:
            answered = "result" in server.next()
    server.end()
    return answered


def duration_s(server: Server, text: str) -> float:
    began = time.monotonic()
    answer = server.call("benchmark_kernel", problem="twice", source=text)
    assert not answer.get("isError"), answer
    return time.monotonic() - began


def sound(workspace: Path, texts: list[str]) -> int:
    """Every text is there, and every decision follows from its record. Returns how many kernels have been best."""
    random, clock = np.random.default_rng(), lambda: datetime.now(UTC)
    lab = Laboratory(workspace=workspace, data=Path(f"{workspace}-data"), backends={}, random=random, clock=clock)
    problem = lab.problem("twice")
    stored = problem.attempts.all()
    assert [attempt.number for attempt in stored] == list(range(len(stored)))
    assert {digest(text) for text in texts} <= {attempt.digest for attempt in stored}
    assert all(digest(attempt.text()) == attempt.digest for attempt in stored)
    found = audit(lab, "twice")
    assert found.clean, str(found)
    best = problem.best("device").read()
    assert best is not None
    assert any(verdict.passed for verdict in problem.attempts.get(best.attempt).verdicts())
    return best.revision


@pytest.mark.slow
def test_a_server_killed_anywhere_in_a_benchmark_loses_nothing(tmp_path: Path):
    chance = random.Random(6)
    (tmp_path / "twice.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(kernel(KILLS + 8))
    texts = [kernel(KILLS + 8)]
    server = Server(tmp_path, **NOISY)
    opened = server.call("open_problem", reference="twice.py", kernel_path="kernel.py")
    assert not opened.get("isError"), opened
    texts.append(kernel(KILLS + 7))
    assert server.call("verify_kernel", problem="twice", source=texts[-1])["structuredContent"]["passed"]
    longest = 1.2 * duration_s(server, texts[-1])
    server.end()
    answers = 0
    for number in range(KILLS):
        server = Server(tmp_path, **NOISY)
        texts.append(kernel(KILLS + 6 - number))
        verified = server.call("verify_kernel", problem="twice", source=texts[-1])
        assert verified["structuredContent"]["passed"], verified
        arguments = {"problem": "twice", "source": texts[-1]}
        server.start("tools/call", name="benchmark_kernel", arguments=arguments, _meta={"progressToken": 1})
        answers += kill_at_random(server, longest, chance)
        sound(tmp_path, texts)
    assert answers < KILLS, "not one of them was killed in the middle"
    server = Server(tmp_path, **NOISY)
    assert not server.call("problem_status", problem="twice").get("isError")
    assert not server.call("benchmark_kernel", problem="twice", source=texts[-1]).get("isError")
    server.end()
    assert sound(tmp_path, texts) >= 2


def test_the_noisy_device_is_only_there_where_a_test_asks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from nki_anvil.server.building import backends
    from nki_anvil.server.settings import Settings

    assert "noisy" not in backends(Settings(data=tmp_path))
    monkeypatch.setenv(SWITCH, "1")
    assert "noisy" in backends(Settings(data=tmp_path))
