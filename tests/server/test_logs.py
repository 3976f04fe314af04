"""What the log says of a call and its jobs, and what it never says."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
from line_server import KERNEL, REFERENCE, Server

from nki_anvil.backends import errand
from nki_anvil.server import logs

TOKEN = "tok-7b1e2c9d4f"
AWS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def lines(workspace: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (workspace / ".nki-anvil/logs/server.log").read_text().splitlines()]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], str]:
    """The log and stderr of a server that knows secrets, of which some are thrown at it; all at the level DEBUG."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "twice.py").write_text(REFERENCE)
    (folder / "kernel.py").write_text(KERNEL)
    secrets = {"NKI_ANVIL_TOKEN": TOKEN, "AWS_SECRET_ACCESS_KEY": AWS_KEY, "NKI_ANVIL_LOG_LEVEL": "DEBUG"}
    server = Server(folder, **secrets)
    assert not server.call("open_problem", reference="twice.py", kernel_path="kernel.py").get("isError")
    source = KERNEL.replace("2.0", "3.0")
    assert not server.call("verify_kernel", problem="twice", source=source)["structuredContent"]["passed"]
    server.call("problem_status", problem=TOKEN)
    server.call("problem_status", problem=f"x {AWS_KEY}")
    server.call("open_problem", reference=f"{TOKEN}.py")
    server.input.close()
    said = server.errors.read()
    server.end()
    return lines(folder), said


def test_every_call_is_one_line_with_its_client_tool_problem_outcome_and_time(told: tuple[list[dict[str, Any]], str]):
    calls = [line for line in told[0] if line["logger"].endswith("logbook")]
    assert [(line["tool"], line["outcome"]) for line in calls] == [
        ("open_problem", "answered"), ("verify_kernel", "answered"), ("problem_status", "problem.unknown"),
        ("problem_status", "problem.unknown"), ("open_problem", "path.unreadable"),
    ]  # fmt: skip
    assert {line["client"] for line in calls} == {"test"}
    assert calls[1]["problem"] == "twice"
    assert all(line["seconds"] >= 0 and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", line["at"]) for line in calls)


def test_every_job_is_one_line_with_the_attempt_it_was_for_and_how_long_it_waited(
    told: tuple[list[dict[str, Any]], str],
):
    jobs = [line for line in told[0] if line["message"] == "job done"]
    assert [(job["purpose"], job["attempt"], job["problem"]) for job in jobs if job["tool"] == "verify_kernel"] == [
        ("verify", 1, "twice")
    ]
    assert all(re.fullmatch(r"[0-9a-f]{12}", job["job"]) and job["waited_s"] >= 0 for job in jobs)


def test_no_secret_stands_in_the_log_or_on_stderr_even_where_a_call_says_it(told: tuple[list[dict[str, Any]], str]):
    written = json.dumps(told[0], ensure_ascii=False) + told[1]
    assert logs.HIDDEN in written
    assert TOKEN not in written
    assert AWS_KEY not in written


def test_kernels_and_arguments_are_not_in_the_lines_of_calls(told: tuple[list[dict[str, Any]], str]):
    own = [line for line in told[0] if line["logger"].startswith("nki_anvil")]
    assert own
    assert not any("nki.jit" in json.dumps(line) for line in own)


def formatted(message: str, formatter: logging.Formatter, **extra: Any) -> str:
    record = logging.getLogger("x").makeRecord("x", logging.INFO, "f", 1, message, (), None, extra=extra)
    return formatter.format(record)


def test_a_bearer_token_of_anybody_is_blotted_out():
    for formatter in (logs.JsonLine(), logs.Plain(logs.FORMAT)):
        said = formatted("Authorization: Bearer abcdef.ghijkl-mnop= was wrong", formatter)
        assert "Bearer ***" in said
        assert "ghijkl" not in said


def test_a_line_is_one_json_object_whatever_is_said():
    with errand.on(problem='p"q', attempt=3):
        said = formatted("two\nlines \ud800 \u2028", logs.JsonLine(), path=Path("/x"), seconds=0.12345)
    assert "\n" not in said
    entry = json.loads(said)
    assert (entry["problem"], entry["attempt"], entry["seconds"]) == ('p"q', 3, 0.123)


def test_people_read_the_same_facts_at_the_end_of_a_line():
    with errand.on(problem="p", job="abc"):
        assert formatted("done", logs.Plain(logs.FORMAT)).endswith("done problem=p job=abc")


def test_a_pipe_in_the_place_of_the_log_is_not_waited_for(tmp_path: Path):
    (tmp_path / ".nki-anvil/logs").mkdir(parents=True)
    os.mkfifo(tmp_path / ".nki-anvil/logs/server.log")
    logs.WorkspaceLog(tmp_path).emit(logging.makeLogRecord({"msg": "said"}))
