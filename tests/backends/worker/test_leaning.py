"""Choices that are made to go one way in cases that went the other, and what is told of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder

from nki_anvil.backends.worker import leaning
from nki_anvil.backends.worker.leaning import LEANING, RUNS, Leaning
from nki_anvil.sim.execution import Executable

ROWS = np.array([[1.0, 2.0], [-3.0, 4.0]], np.float32)


class Bench:
    """x op0 value0, over cases of families one after the other; what is sent back is kept."""

    def __init__(self, op: str, value: float, times: float = 1.0) -> None:
        k = ProgramBuilder()
        tile = k.tensor((2, 2), "float32", "sbuf")
        k.emit("dma_copy", tile, k.input((2, 2), "float32"))
        k.emit("tensor_scalar", tile, tile, op0=op, value0=value, op1="multiply", value1=times)
        k.emit("dma_copy", k.result((2, 2), "float32"), tile)
        self.program = k.program()
        self.leaning = Leaning(self.program)
        self.executable = Executable(self.program, choices=self.leaning.choices)
        self.sent: dict[str, Any] = {}

    def case(self, array: Any, family: str = "own", seconds: float = 0.0) -> None:
        self.leaning.choices.begin()
        outputs = [one.copy() for one in self.executable.run([array]).outputs]

        def run() -> Any:
            return self.executable.run([array]).outputs

        self.sent |= self.leaning.after({"key": f"c{len(self.sent)}", "family": family}, outputs, seconds, run)

    def told(self, way: int, part: str = "") -> dict[str, Any]:
        (found,) = (one for one in self.leaning.told() if (one["way"], one["part"]) == (way, part))
        return found


def test_what_no_case_takes_is_told_and_nothing_is_run_again() -> None:
    bench = Bench("maximum", -9.0)
    bench.case(ROWS)
    assert (bench.told(1)["met"], bench.told(1)["taken"]) == (True, False)
    assert bench.told(2)["taken"]
    assert not bench.told(1)["tried"]


def test_own_draws_that_come_out_otherwise_need_a_choice_and_nobody_else_is_asked() -> None:
    bench = Bench("maximum", 0.0)
    bench.case(ROWS)
    assert [bench.told(way)["needed"] for way in (1, 2)] == [[0], [0]]
    assert bench.sent == {}


def test_what_comes_of_other_cases_is_sent_back_once_for_each_family() -> None:
    bench = Bench("maximum", 0.0)
    for family in ("tiny", "tiny", "huge"):
        bench.case(-np.abs(ROWS), family)
    told = bench.told(1)
    assert (told["needed"], told["tried"], len(told["keys"])) == ([], True, 2)
    assert set(told["keys"]) < set(bench.sent), "each column is tried as well"
    assert all(LEANING in key for key in told["keys"])
    assert all((bench.sent[key][0] == -np.abs(ROWS)).all() for key in told["keys"])


@pytest.mark.parametrize(("op", "value", "expected"), [("maximum", 0.5, 1 / 128), ("minimum", -0.5, -1 / 128)])
def test_a_limit_by_a_number_is_tried_with_one_that_limits_less(op: str, value: float, expected: float) -> None:
    bench = Bench(op, value)
    bench.case(np.zeros((2, 2), np.float32), "zeros")
    (key,) = bench.told(3)["keys"]
    assert (bench.sent[key][0] == expected).all()
    assert (bench.told(3)["taken"], bench.told(3)["needed"]) == (True, [])


def test_zero_cannot_be_weaker() -> None:
    bench = Bench("maximum", 0.0)
    bench.case(ROWS)
    assert {one["way"] for one in bench.leaning.told()} == {1, 2}


def test_nothing_is_sent_back_where_nothing_of_the_output_hangs_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaning, "RUNS", 3)
    bench = Bench("maximum", 0.0, times=0.0)
    for _ in range(RUNS + 1):
        bench.case(ROWS, "tiny")
    assert bench.sent == {}
    assert (bench.told(1)["tried"], bench.told(1)["needed"]) == (True, [])


def test_a_kernel_that_fails_without_a_choice_needs_it() -> None:
    bench = Bench("greater", 0.0)
    bench.leaning.choices.begin()
    outputs = bench.executable.run([ROWS]).outputs
    assert list(bench.leaning.after({"key": "c", "family": "tiny"}, list(outputs), 0.0, lambda: None)) == []
    assert [bench.told(way)["needed"] for way in (1, 2)] == [[0], [0]]


@pytest.mark.parametrize("how", ["large", "late", "much"])
def test_large_outputs_and_little_time_leave_choices_untried(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench("maximum", 0.0)
    if how == "large":
        monkeypatch.setattr(leaning, "BYTES", 8)
    elif how == "much":
        monkeypatch.setattr(leaning, "BYTES_IN_ALL", 8)
        bench.case(-np.abs(ROWS), "tiny")
        assert len(bench.sent) == 1
    else:
        bench.leaning.give_up()
    bench.case(ROWS)
    assert not any(one["tried"] or one["needed"] for one in bench.leaning.told())
    assert all(one["taken"] for one in bench.leaning.told())


def test_of_a_needed_limit_the_places_that_nothing_hangs_on_are_told() -> None:
    """The second column is never below zero where anything hangs on it: its own draws are taken times nothing."""
    bench = Bench("maximum", 0.0)
    for array in (np.array([[1.0, 2.0], [-3.0, 4.0]], np.float32), np.array([[1.0, 2.0], [-3.0, 5.0]], np.float32)):
        bench.case(array)
    parts = {(one["way"], one["part"]): one for one in bench.leaning.told()}
    assert not parts[1, "in its first turn, column 1"]["taken"]
    assert (1, "in its first turn") not in parts
