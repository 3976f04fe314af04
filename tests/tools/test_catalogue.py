"""The tools as a client sees them before calling one: names, schemas, descriptions, hints, and what they cost."""

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from nki_anvil.tools.catalogue import TOOLS
from nki_anvil.tools.publication import Published

SNAPSHOTS = Path(__file__).parent / "snapshots"
ACCEPT = "NKI_ANVIL_ACCEPT_SNAPSHOTS"
LONG = {
    "open_problem", "verify_kernel", "benchmark_kernel", "evaluate_candidates", "profile_kernel", "finish_problem",
}  # fmt: skip
EVERY = pytest.mark.parametrize("declared", TOOLS, ids=lambda declared: declared.name)

PROMISED = {
    "open_problem": (
        "reference kernel_path name tolerance chip backend",
        "problem kernel_path chip backend origin baseline peak bound tolerance resumed",
    ),
    "profile_kernel": (
        "problem kernel_path source compare_to",
        "digest origin verified latency_us latency_low_us latency_high_us bound_by busiest percent_of_peak "
        "percent_of_bound metrics engines gaps difference timeline",
    ),
    "verify_kernel": (
        "problem kernel_path source parent plan shown_id",
        "passed digest attempt repeated gates worst_error tolerance where hint",
    ),
    "benchmark_kernel": (
        "problem kernel_path source parent plan shown_id",
        "outcome digest attempt repeated speedup speedup_low speedup_high speedup_vs_baseline latency_us "
        "best_latency_us percent_of_peak origin rounds flags best_digest restored",
    ),
    "evaluate_candidates": (
        "problem kernels shown_id limit",
        "candidates counts all beam experience_candidates",
    ),
    "revert_to_best": ("problem", "kernel_path best_digest saved_attempt"),
    "record_reflexion": (
        "problem attempt diagnosis change expected expected_speedup lesson avoid try_next",
        "reflexion outcome speedup was_expected",
    ),
    "query_memory": ("problem text bottleneck op_family kind limit", "experiences reflexions shown_id"),
    "add_experience": (
        "title when_to_use advice kind problem attempt slow_snippet fast_snippet supersedes",
        "experience status similar",
    ),
    "problem_status": ("problem", "best baseline percent_of_peak attempts guard reflexions budget"),
    "finish_problem": ("problem", "report"),
}


def schema_of(declared: Published) -> dict[str, Any]:
    return declared.wire.model_dump(mode="json", by_alias=True, exclude_none=True)


def test_the_catalogue_is_the_promised_one():
    assert {declared.name for declared in TOOLS} == PROMISED.keys()


@EVERY
def test_a_tool_takes_and_gives_what_was_promised(declared: Published):
    parameters, fields = (names.split() for names in PROMISED[declared.name])
    detach = ["detach"] if declared.name in LONG else []
    assert set(declared.parameters) == {*parameters, *detach}
    output = declared.wire.output_schema
    assert output is not None
    assert list(output["properties"])[:2] == ["summary", "next_steps"]
    assert {*fields} <= output["properties"].keys()
    assert ("pending" in output["properties"]) == (declared.name in LONG)


@EVERY
def test_a_tool_explains_itself(declared: Published):
    tool = declared.wire
    assert tool.title
    assert tool.description
    assert 80 < len(tool.description) < 2000
    assert re.search(r"seconds|minutes|at once", tool.description.lower()), "how long does it take?"
    for name, parameter in tool.input_schema["properties"].items():
        assert parameter.get("description"), f"{name} is not described"


@EVERY
def test_a_tool_sets_all_four_hints(declared: Published):
    hints = declared.wire.annotations
    assert hints is not None
    given = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
    assert None not in given
    assert not (hints.read_only_hint and hints.destructive_hint)


@EVERY
def test_a_tool_refuses_unknown_arguments_by_its_schema(declared: Published):
    assert declared.wire.input_schema["additionalProperties"] is False


@EVERY
def test_a_schema_is_the_one_that_was_accepted(declared: Published):
    path = SNAPSHOTS / f"{declared.name}.json"
    now = json.dumps(schema_of(declared), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get(ACCEPT):
        path.write_text(now)
    before = path.read_text() if path.is_file() else ""
    change = "\n".join(difflib.unified_diff(before.splitlines(), now.splitlines(), "accepted", "now", lineterm=""))
    assert not change, f"{change}\nIf this is meant: {ACCEPT}=1 pytest {Path(__file__).name}"


def test_no_snapshot_is_left_over():
    assert {path.stem for path in SNAPSHOTS.glob("*.json")} == {declared.name for declared in TOOLS}


def test_the_list_of_tools_costs_less_than_four_thousand_tokens():
    characters = 0
    for declared in TOOLS:
        tool = declared.wire
        schema = json.dumps(tool.input_schema, separators=(",", ":"))
        characters += len(tool.name) + len(tool.description or "") + len(schema)
    print(f"the list of tools costs about {characters // 4} tokens")  # noqa: T201
    assert characters / 4 < 4000
