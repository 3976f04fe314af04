"""The guides leave nothing out that the tools say, and give the source of every fact."""

import re

import pytest
from documents import ROOT
from ordered_pairs import PAIRS

from nki_anvil.sim.advice import ADVICE
from nki_anvil.sim.profile import estimate
from nki_anvil.sim.rules.table import TABLE
from nki_anvil.sim.tracing import trace

GUIDES = ROOT / "resources"
CODE = re.compile(r'"((?:NKI|TRN2)-[A-Z0-9-]*[A-Z0-9])"')


def guide(name: str) -> str:
    return (GUIDES / f"{name}.md").read_text()


def rows(text: str) -> list[list[str]]:
    """The cells of every row of a page's tables, heads and rulers left out."""
    tables = re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
    lines = [line for table in tables for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def emitted() -> set[str]:
    """Every code of the frontend and of the machine that the simulator's text holds."""
    return {code for path in (ROOT / "sim").rglob("*.py") for code in CODE.findall(path.read_text())}


def test_every_code_that_a_kernel_can_get_is_explained():
    known = guide("errors") + guide("rules")
    assert {code for code in emitted() if f"`{code}`" not in known} == set()
    assert {rule.code for rule in TABLE if f"`{rule.code}`" not in known} == set()


def test_every_code_that_is_explained_can_occur():
    explained = set(re.findall(r"`(NKI-[A-Z0-9-]+)`", guide("errors")))
    assert explained - emitted() == set()


def test_every_gap_of_a_profile_is_on_the_menu():
    menu = rows(guide("optimization-menu"))
    symptoms = " ".join(cells[1] for cells in menu)
    assert [gap for gap in ADVICE if f"`{gap}`" not in symptoms] == []


def test_every_entry_of_the_menu_says_what_to_expect_from_which_source_and_what_others_call_it():
    for name, symptom, remedy, expected, elsewhere in rows(guide("optimization-menu")):
        assert name
        assert symptom
        assert remedy
        assert re.search(r"\((?:[DPM]|A: )[^)]*\)", expected), name
        assert elsewhere, name


def test_all_of_awss_steps_are_on_the_menu_under_their_numbers():
    menu = guide("optimization-menu")
    assert [
        step for step in ("1", "2", "3", "4", "5a", "5b", "6", "7", "8", "9", "10") if f"Opt #{step}" not in menu
    ] == []


def test_every_metric_of_a_profile_is_in_the_glossary():
    profile = estimate(trace(PAIRS[4].slower, *PAIRS[4].inputs))
    assert [name for name in profile.metrics if f"`{name}`" not in guide("metrics")] == []


@pytest.mark.parametrize("line", [line for line in guide("hardware").splitlines() if line.startswith("- ")])
def test_every_fact_of_the_hardware_has_its_source(line: str):
    assert re.search(r"\((?:D|P|D, P)\)", line)


def test_every_number_of_the_hardware_has_its_source():
    assert all(cells[-1] in {"D", "P", "D, P"} for cells in rows(guide("hardware")))


@pytest.mark.parametrize("name", ["language", "metrics", "migration", "errors", "optimization-menu", "hardware"])
def test_every_guide_names_its_sources(name: str):
    assert re.search(r"Sources?\b", guide(name))
