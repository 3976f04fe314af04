"""Orders in which loops without an order run otherwise: what they keep, and that a value which hangs on it shows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nki_anvil.sim import install, trace
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.execution import Executable
from nki_anvil.sim.program import SCHEMA, SHUFFLED, Program
from nki_anvil.sim.schema import validate
from nki_anvil.sim.shuffling import shuffled

from .conftest import close

X = np.arange(8 * 4, dtype=np.float32).reshape(8, 4)
LEAF = "leaf"
KINDS = st.sampled_from(["affine_range", "sequential_range", "static_range"])
BODIES = st.recursive(
    st.just(LEAF),
    lambda body: st.tuples(KINDS, st.integers(1, 5), st.integers(0, 5), st.lists(body, min_size=1, max_size=3)),
    max_leaves=6,
)
"""A leaf is one instruction; a loop has a kind, iterations, how many of them do its first child alone, and children."""


def spoken(nl: Any, tile: Any, body: Any) -> None:
    """The loops as a kernel writes them."""
    if body == LEAF:
        nl.exp(tile)
        return
    kind, trips, few, children = body
    for i in getattr(nl, kind)(trips):
        if i < few:
            spoken(nl, tile, children[0])
        else:
            for child in children:
                spoken(nl, tile, child)


def told(body: Any, count: list[int]) -> Any:
    """The same as a tree: the number of an instruction, or a kind with its iterations, each a list of trees."""
    if body == LEAF:
        count[0] += 1
        return count[0] - 1
    kind, trips, few, children = body
    return kind, [[told(child, count) for child in (children[:1] if i < few else children)] for i in range(trips)]


def backwards(tree: Any) -> list[int]:
    if isinstance(tree, int):
        return [tree]
    kind, turns = tree
    every = [[number for child in turn for number in backwards(child)] for turn in turns]
    return [number for turn in (every[::-1] if kind == "affine_range" else every) for number in turn]


def kept(tree: Any, place: list[int]) -> tuple[int, int]:
    """First and last place of a tree, where each iteration and each loop with an order keeps its own."""
    if isinstance(tree, int):
        return place[tree], place[tree]
    kind, turns = tree
    spans = [[kept(child, place) for child in turn] for turn in turns]
    for turn in spans:
        assert all(before[1] < after[0] for before, after in pairwise(turn))
    whole = [(turn[0][0], turn[-1][1]) for turn in spans]
    if kind != "affine_range":
        assert all(before[1] < after[0] for before, after in pairwise(whole))
    return min(first for first, _ in whole), max(last for _, last in whole)


@settings(max_examples=80, deadline=None)
@given(body=BODIES)
def test_an_order_holds_each_instruction_once_and_keeps_what_has_an_order(body: Any):
    with install():
        from neuronxcc import nki  # type: ignore[import-not-found]

        nl = nki.language

        def kernel(x):
            out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
            tile = nl.load(x)
            spoken(nl, tile, body)
            nl.store(out, tile)
            return out

        program = trace(kernel, X)
    validate(program)
    count = [1]
    tree = told(body, count)
    assert len(program) == count[0] + 1
    natural = list(range(len(program)))
    wanted = [0, *backwards(tree), count[0]]
    orders = {name: column.tolist() for name, column in program.tables["orders"].items()}
    if not program.unordered:
        assert wanted == natural
        return
    assert orders["backwards"] == wanted
    for order in (*orders.values(), shuffled(program.tables["orders"]["backwards"], 5).tolist()):
        assert sorted(order) == natural
        place = np.argsort(order).tolist()
        kept(tree, place)
        assert (place[0], place[-1]) == (0, len(program) - 1)


def outputs(program: Program, *arrays: Any) -> dict[str, Any]:
    """What a program with loops without an order returns, in each order."""
    validate(program)
    assert program.unordered
    made = {"": program, **{order: program.turned(order) for order in (*SCHEMA["orders"], SHUFFLED)}}
    assert not made["abreast"].unordered
    return {order: Executable(one).run(arrays, poison=1).outputs[0] for order, one in made.items()}


def test_programs_of_a_launch_run_from_the_last_to_the_first(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((4, 8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        nl.store(out[i], nl.multiply(nl.load(x), 1.0 + j))
        return out

    program = trace(kernel[4, 3], X)
    found = outputs(program, X)
    assert (found[""] == 3 * X).all()
    assert (found["backwards"] == X).all()
    rows = program.tables["orders"]["backwards"].reshape(12, -1)
    assert (np.diff(rows, axis=1) == 1).all()
    assert (np.diff(rows[:, 0]) < 0).all()


def test_a_loop_that_is_left_by_a_break_runs_backwards_as_far_as_it_came(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for i in nl.affine_range(6):
            nl.exp(tile)
            if i == 3:
                break
            nl.exp(tile)
        nl.store(out, tile)
        return out

    orders = trace(kernel, X).tables["orders"]
    assert orders["backwards"].tolist() == [0, 7, 5, 6, 3, 4, 1, 2, 8]
    assert orders["abreast"].tolist() == [0, 7, 5, 3, 1, 6, 4, 2, 8]


def test_bodies_that_are_unlike_run_side_by_side_and_additions_wait_for_what_begins_their_sum(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, reduces):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        tile, total = nl.load(x), nl.zeros((nl.par_dim(8), 4), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(6):
            nl.exp(tile)
            if i % 2 == 0:
                nl.exp(tile)
            if reduces:
                total[...] = nl.loop_reduce(tile, op=np.add, loop_indices=[i])
        nl.store(out, total)
        return out

    plain, reduced = (trace(kernel, X, reduces).tables["orders"]["abreast"].tolist() for reduces in (False, True))
    assert plain == [0, 1, 10, 8, 7, 5, 9, 6, 4, 2, 3, 11]
    assert reduced == [0, 14, 11, 9, 6, 12, 7, 4, 1, 2, 3, 15, 10, 13, 8, 5, 16]


def test_a_program_without_such_loops_has_one_order(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        for _ in nl.affine_range(1):
            for _ in nl.affine_range(4, precise_schedule=True):
                nl.load(x)
        nl.store(out, nl.load(x))
        return out

    program = trace(kernel, X)
    assert not program.unordered
    assert program.turned("backwards") is program


def test_sums_come_to_the_same_in_all_orders(beta1: Any, rng: np.random.Generator):
    nl = beta1.nl
    x = rng.standard_normal((6, 32, 48)).astype(np.float32)

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((3, 48, 48), dtype=np.float32, buffer=nl.shared_hbm)
        total = nl.zeros((nl.par_dim(48), 48), dtype=np.float32, buffer=nl.sbuf)
        product = nl.zeros((nl.par_dim(48), 48), dtype=np.float32, buffer=nl.psum)
        reduced = nl.zeros((nl.par_dim(48), 48), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            for j in nl.affine_range(2):
                tile = nl.load(x[i * 2 + j])
                product += nl.matmul(tile, tile, transpose_x=True)
                part = nl.copy(nl.matmul(tile, tile, transpose_x=True))
                total += part
                reduced[...] = nl.loop_reduce(part, op=np.add, loop_indices=[i, j])
        for k, one in enumerate((product, total, reduced)):
            nl.store(out[k], nl.copy(one))
        return out

    wanted = np.broadcast_to(np.einsum("ikm,ikn->mn", x, x), (3, 48, 48))
    for found in outputs(trace(kernel, x), x).values():
        assert close(found, wanted)


def test_an_iteration_that_begins_a_sum_comes_when_it_does_and_only_additions_wait_for_it(beta1: Any):
    """What others need of the first iteration shows, however its dead sum would keep it first."""
    nl, x = beta1.nl, np.stack([X, 2 * X, 3 * X])

    @beta1.nki.jit
    def kernel(x, carried):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        state = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.hbm)
        p, f, one = nl.arange(8)[:, None], nl.arange(4)[None, :], nl.arange(1)[None, :]
        row = beta1.nisa.iota(p + 0 * one, dtype=np.int32)
        nl.store(state[p, f], nl.zeros((nl.par_dim(8), 4), dtype=np.float32))
        total = nl.ndarray((nl.par_dim(8), 4), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            tile = nl.load(x[i])
            total[p, f] = nl.loop_reduce(tile, op=np.add, loop_indices=[i])
            if carried:
                half = nl.multiply(nl.load(state[row[p, one], f]), 0.5)
                nl.store(state[row[p, one], f], nl.add(half, tile))
        nl.store(out, nl.add(total, nl.load(state)))
        return out

    for found in outputs(trace(kernel, x, False), x).values():
        assert close(found, x.sum(0))
    found = outputs(trace(kernel, x, True), x)
    assert close(found[""], x.sum(0) + 0.25 * x[0] + 0.5 * x[1] + x[2])
    assert close(found["backwards"], x.sum(0) + x[0] + 0.5 * x[1] + 0.25 * x[2])


def test_what_waits_to_be_added_is_not_written_again(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        total = nl.ndarray((nl.par_dim(8), 4), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            tile = nl.load(x[i])
            total[...] = nl.loop_reduce(tile, op=np.add, loop_indices=[i])
            tile[...] = nl.exp(tile)
        nl.store(out, total)
        return out

    with pytest.raises(TraceError, match=r"nl\.loop_reduce takes is written again in the same iteration") as refused:
        trace(kernel, np.stack([X, X, X]))
    assert refused.value.code == "NKI-AFFINE"


WRONG = {
    "a sum that is scaled": lambda nl, nisa, state, i, tile: _scaled(nl, state, tile),
    "a place that a predicate replaces": lambda nl, nisa, state, i, tile: nisa.tensor_copy_predicated(
        src=tile, dst=state, predicate=nl.greater(tile, 20.0 - 8.0 * i.value, dtype=np.uint8)
    ),
}


def _scaled(nl: Any, state: Any, tile: Any) -> None:
    p, f = nl.arange(8)[:, None], nl.arange(4)[None, :]
    state[p, f] *= 0.5
    state[p, f] += tile


@pytest.mark.parametrize("what", WRONG)
def test_what_hangs_on_the_order_shows(beta1: Any, what: str):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        state = nl.zeros((nl.par_dim(8), 4), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            WRONG[what](nl, beta1.nisa, state, i, nl.load(x[i]))
        nl.store(out, state)
        return out

    x = np.stack([X, 2 * X, 3 * X])
    found = outputs(trace(kernel, x), x)
    assert (found[""] != found["backwards"]).any()


def _add_row(nl: Any, out: Any, at: Any, i: Any) -> None:
    """Reads, adds to and writes back the row that an iteration names."""
    one, f, o = nl.arange(1)[:, None], nl.arange(4)[None, :], nl.arange(1)[None, :]
    place = nl.load(at[i + one, o])
    row = nl.load(out[place[one, o], f])
    nl.store(out[place[one, o], f], nl.add(row, 1.0))


def _unlike(nl: Any, out: Any, at: Any, i: Any) -> None:
    """In turns of two kinds."""
    if i % 2 == 0:
        nl.exp(nl.load(at[i + nl.arange(1)[:, None], nl.arange(1)[None, :]]))
        _add_row(nl, out, at, i)
    else:
        _add_row(nl, out, at, i)


def _after_much(nl: Any, out: Any, at: Any, i: Any) -> None:
    """With a scratch of its own that is larger than what a few may hold together."""
    wide = nl.zeros((nl.par_dim(128), 40_000), dtype=np.float32, buffer=nl.sbuf)
    nl.exp(wide[nl.arange(128)[:, None], nl.arange(4)[None, :]])
    _add_row(nl, out, at, i)


def _after_many(nl: Any, out: Any, at: Any, i: Any) -> None:
    """With more tensors of its own than a few may have together."""
    tile = nl.load(out)
    for _ in range(300):
        tile = nl.exp(tile)
    _add_row(nl, out, at, i)


def _staggered(nl: Any, out: Any, at: Any, i: Any) -> None:
    """Behind as many idle instructions as keep it from its neighbours where each does its next one in turn."""
    for r in range(8):
        if i == r:
            for _ in range(9 * (r % 4)):
                nl.zeros((1, 1), dtype=np.float32)
    _add_row(nl, out, at, i)


def _beside_much(nl: Any, out: Any, at: Any, i: Any) -> None:
    """Beside a gibibyte in HBM that nothing touches."""
    nl.ndarray((16385, 16384), dtype=np.float32, buffer=nl.hbm)
    _add_row(nl, out, at, i)


def _kernel_of(beta1: Any, add: Callable[..., None], turns: int) -> Any:
    """A copy of x in which so many iterations without an order add."""
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x, at):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        for i in nl.affine_range(turns):
            add(nl, out, at, i)
        return out

    return kernel


ADDING = {
    "like each other": (_add_row, 2),
    "unlike each other": (_unlike, 2),
    "with more and more before it": (_staggered, 2),
    "with much that nothing touches": (_beside_much, 2),
    "with a large scratch": (_after_much, 4),
    "with many tensors": (_after_many, 4),
}
"""What an iteration does, and how many of eight additions to one row are left where several stand side by side."""


@pytest.mark.parametrize("what", ADDING)
def test_reading_adding_and_writing_back_shows_where_iterations_stand_side_by_side(beta1: Any, what: str):
    add, left = ADDING[what]
    kernel = _kernel_of(beta1, add, 8)
    apart, same = np.arange(8, dtype=np.int32).reshape(8, 1), np.full((8, 1), 3, np.int32)
    program = trace(kernel, X, apart)
    assert all((found == X + 1).all() for found in outputs(program, X, apart).values())
    found = outputs(program, X, same)
    assert (found[""] == found["backwards"]).all()
    assert (found["abreast"][3] == X[3] + left).all()


def test_iterations_that_meet_only_when_more_than_a_few_stand_side_by_side_show(beta1: Any):
    kernel = _kernel_of(beta1, _add_row, 12)
    found = outputs(trace(kernel, X, at := np.arange(12, dtype=np.int32).reshape(12, 1) % 6), X, at)
    assert all((found[order] == found[""]).all() for order in ("backwards", "abreast", SHUFFLED))
    assert (found["together"][:6] == X[:6] + 1).all()


def test_an_order_by_lot_is_one_for_each_lot_and_known_to_nobody_before(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((8, 4), dtype=np.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(8):
            p, f = nl.arange(1)[:, None], nl.arange(4)[None, :]
            nl.store(out[i + p, f], nl.load(x[i + p, f]))
        return out

    program = trace(kernel, X)
    lines = [program.turned(SHUFFLED, lot).tables["instructions"]["first_operand"].tolist() for lot in range(6)]
    assert len({tuple(line) for line in lines}) == 6
    assert program.turned(SHUFFLED, 3).digest() == program.turned(SHUFFLED, 3).digest()
