"""A loop costs what the same work costs that is written out turn by turn."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from loop_twins import Step, Work, looped, works, written_out
from program_builder import ProgramBuilder

from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.costs.loops import LAID_OUT, LEAST_LAID_OUT, MOST_LAID_OUT
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.model import MOST_POSITIONS, Model, Run
from nki_anvil.sim.program import Program

CHAIN: Sequence[Step] = (("vector", 0, 2, 1), ("scalar", 2, 0, 1), ("scalar", 2, 3, 1), ("gpsimd", 3, 3, 1))
"""Every turn needs tile 0 of the turn before; what GpSimd does at its end nobody waits for."""


def run(program: Program) -> Run:
    return Model(program, CHIPS["trn2"], RATES["trn2"]).run()


def cost(program: Program) -> float:
    return run(program).latency


@given(works)
@settings(max_examples=60, deadline=None)
def test_a_loop_costs_about_what_the_same_work_costs_written_out(work: Work):
    alone = cost(written_out(Work(work.before, [], work.size)))
    loop, out = cost(looped(work)), cost(written_out(work))
    assert 0.7 * out < loop < 1.4 * (out + alone)


@pytest.mark.parametrize("junk", [0, 2, 20, 400])
def test_what_runs_late_from_before_a_loop_hides_no_chain_within_it(junk: int):
    work = Work([("gpsimd", 1, 1, 512)] * junk, CHAIN, turns=512)
    late = cost(looped(Work([("gpsimd", 1, 1, 512)] * junk, [], turns=0)))
    out = cost(written_out(work))
    assert 0.98 * out < cost(looped(work)) < 1.02 * (out + late)


def test_a_store_that_takes_long_to_end_hides_no_chain_beside_it():
    work = Work([], [*CHAIN, ("load", 0, 3, 1), ("scalar", 3, 3, 1), ("store", 3, 0, 1)], turns=300)
    assert cost(looped(work)) == pytest.approx(cost(written_out(work)), rel=0.05)


def test_what_waits_once_is_not_taken_to_wait_in_every_turn():
    """The tiles of a few turns have room before one has to wait for what was there before the loop."""
    work = Work([("scalar", 0, 2, 512)] + [("vector", 0, 1, 512)] * 60, [("gpsimd", 2, 3, 1)], 6000, turns=300)
    assert cost(looped(work)) < 1.2 * cost(written_out(work))


def test_an_engine_that_ran_ahead_while_it_had_time_does_not_go_on_so():
    """Before the loop's second instruction can run, the first has run for as many turns as a queue looks ahead."""
    work = Work([("load", 0, 1, 512)] * 10, [("vector", 2, 2, 512), ("vector", 0, 1, 512)], turns=400)
    assert cost(looped(work)) == pytest.approx(cost(written_out(work)), rel=0.05)


@pytest.mark.parametrize("size", [6_000, 10_000, 20_000, 24_000])
def test_turns_of_a_loop_do_not_overlap_where_their_tiles_have_no_room_side_by_side(size: int):
    work = Work([], [("load", 0, 2, 512), ("scalar", 2, 3, 512), ("vector", 2, 3, 512), ("store", 3, 0, 512)], size)
    assert cost(looped(work)) == pytest.approx(cost(written_out(work)), rel=0.1)


def test_only_a_loop_that_has_not_settled_is_laid_out_further_and_not_for_ever():
    calm, late = Work([], CHAIN, turns=512), Work([("gpsimd", 1, 1, 512)] * 400, CHAIN, turns=512)
    assert len(run(looped(calm)).laid_out.iterations) == LAID_OUT
    assert len(run(looped(late)).laid_out.iterations) == MOST_LAID_OUT


def test_a_schedule_in_program_order_starts_from_the_turns_that_were_laid_out_already():
    model = Model(looped(Work([("gpsimd", 1, 1, 512)] * 400, CHAIN, turns=512)), CHIPS["trn2"], RATES["trn2"])
    assert len(model.run().laid_out.iterations) == len(model.run(1).laid_out.iterations) == MOST_LAID_OUT


Repeated = Callable[[ProgramBuilder, int, bool], Sequence[AbstractContextManager[Any]]]


def times(made: ProgramBuilder, turns: int, loop: bool) -> list[AbstractContextManager[Any]]:
    """What to enter around a body: one loop, or nothing so many times."""
    return [made.loop("fori", made.register(), 0, turns)] if loop else [nullcontext()] * turns


def nested(loop: bool) -> Program:
    """A long instruction, and a loop of short ones that waits for it, in a loop."""
    made = ProgramBuilder()
    small, wide = made.tensor((128, 512)), made.tensor((128, 4096))
    for outer in times(made, 20, loop):
        with outer:
            made.emit("activation", wide, None, wide, op="exp")
            made.emit("tensor_copy", small, wide[:, 0:512])
            for inner in times(made, 30, loop):
                with inner:
                    made.emit("activation", small, None, small, op="exp")
            made.emit("tensor_copy", wide[:, 0:512], small)
    return made.program()


def test_the_turns_of_an_inner_loop_do_not_take_as_long_as_what_is_around_it():
    assert cost(nested(True)) == pytest.approx(cost(nested(False)), rel=0.02)


def nest(depth: int, turns: int, loop: bool) -> Program:
    """A chain of three instructions in so many loops in each other."""
    made = ProgramBuilder()
    tile, total = made.tensor((128, 64)), made.tensor((128, 64))

    def inside(left: int) -> None:
        if not left:
            made.emit("activation", tile, None, tile, op="exp")
            made.emit("tensor_copy", total, tile)
            made.emit("tensor_copy", tile, total)
            return
        for turn in times(made, turns, loop):
            with turn:
                inside(left - 1)

    inside(depth)
    return made.program()


@pytest.mark.parametrize(("depth", "inner"), [(2, LAID_OUT), (3, LAID_OUT), (4, LAID_OUT), (5, LEAST_LAID_OUT)])
def test_loops_in_each_other_lay_out_fewer_turns_of_the_outer_ones(depth: int, inner: int):
    """Their turns multiply: eight of each of five loops were a hundred thousand positions."""
    laid_out = run(nest(depth, 8, True)).laid_out
    outermost, innermost = (sum(turn.region == region for turn in laid_out.iterations) for region in (0, depth - 1))
    assert len(laid_out.order) <= MOST_POSITIONS
    assert outermost == (LAID_OUT if depth < 4 else LEAST_LAID_OUT)
    assert len(laid_out.order) == 3 * innermost
    assert innermost % inner == 0


def test_loops_in_each_other_of_which_fewer_turns_are_laid_out_cost_what_they_cost_written_out():
    assert cost(nest(4, 8, True)) == pytest.approx(cost(nest(4, 8, False)), rel=0.02)


def test_a_loop_by_itself_lays_out_as_many_turns_whatever_is_in_it():
    large = Work([], [*CHAIN] * (MOST_POSITIONS // 16), turns=20)
    assert len(run(looped(large)).laid_out.iterations) == LAID_OUT


def on(cores: int, loop: bool, meet: bool, junk: int = 0) -> Program:
    made = ProgramBuilder(cores=cores)
    middle = made.tensor((256, 512), memory="shared_hbm")
    for made.core in range(cores):
        tile, other, late = (made.tensor((128, 512)) for _ in range(3))
        for _ in range(junk if made.core else 0):
            made.emit("memset", late, value=0.0, engine="gpsimd")
        for turn in times(made, 100, loop):
            with turn:
                made.emit("activation", tile, None, tile, op="exp")
                made.emit("tensor_copy", other, tile)
                if meet:
                    made.emit("core_barrier", middle, engine="gpsimd", cores=[0, 1])
    return made.program()


@pytest.mark.parametrize("loop", [True, False])
def test_loops_of_two_cores_run_side_by_side(loop: bool):
    assert cost(on(2, loop, meet=False)) == pytest.approx(cost(on(1, loop, meet=False)), rel=0.02)


@pytest.mark.parametrize("junk", [0, 20])
def test_loops_of_two_cores_that_meet_in_every_turn_cost_what_they_cost_written_out(junk: int):
    out, late = cost(on(2, False, True, junk)), junk * cost(on(1, False, False)) / 100
    assert 0.98 * out < cost(on(2, True, True, junk)) < 1.02 * (out + late)


def one_after_the_other(loop: bool) -> Program:
    """The second core's loop begins when the first core's has ended, and they have met."""
    made = ProgramBuilder(cores=2)
    middle = made.tensor((256, 512), memory="shared_hbm")
    for made.core in range(2):
        tile = made.tensor((128, 512))
        if made.core:
            made.emit("core_barrier", middle, engine="scalar", cores=[0, 1])
        for turn in times(made, 100, loop):
            with turn:
                made.emit("activation", tile, None, tile, op="exp")
        if not made.core:
            made.emit("core_barrier", middle, engine="scalar", cores=[0, 1])
    return made.program()


def test_loops_of_two_cores_on_either_side_of_a_meeting_add_up():
    assert cost(one_after_the_other(True)) >= 0.98 * cost(one_after_the_other(False))
