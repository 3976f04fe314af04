"""A reduction over loops begins where nothing stands, or what leaves its result as it is; else it has two meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.errors import TraceError

X = np.arange(64 * 12, dtype=np.float32).reshape(64, 12) - 300.0


def reducing(beta1: Any, op: Any, begins: Any, turns: int = 3) -> Any:
    """A kernel that reduces the parts of each row into what ``begins`` makes of its language and its tile's shape."""
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((64, 4), dtype=np.float32, buffer=nl.shared_hbm)
        p, f = nl.arange(64)[:, None], nl.arange(4)[None, :]
        total = begins(nl, (nl.par_dim(64), 4), p, f)
        for i in nl.affine_range(turns):
            total[p, f] = nl.loop_reduce(nl.load(x[p, 4 * i + f]), op=op, loop_indices=[i])
        nl.store(out[p, f], total)
        return out

    return kernel


def by(value: float) -> Any:
    return lambda nl, shape, p, f: nl.full(shape, value, dtype=np.float32, buffer=nl.sbuf)


def nothing(nl: Any, shape: Any, p: Any, f: Any) -> Any:
    return nl.ndarray(shape, dtype=np.float32, buffer=nl.sbuf)


def cleared(nl: Any, shape: Any, p: Any, f: Any) -> Any:
    tile = by(7.0)(nl, shape, p, f)
    tile[p, f] = 0.0
    return tile


def loaded(nl: Any, shape: Any, p: Any, f: Any) -> Any:
    tile = nothing(nl, shape, p, f)
    tile[p, f] = nl.copy(nl.full((64, 4), 0.0, dtype=np.float32))
    return tile


@pytest.mark.parametrize(
    ("op", "begins"),
    [
        (np.add, nothing), (np.add, by(0.0)), (np.add, cleared), (np.max, nothing), (np.max, by(-np.inf)),
        (np.max, by(-3.4028235e38)), (np.min, by(np.inf)), (np.multiply, by(1.0)),
    ],
)  # fmt: skip
def test_what_leaves_the_result_as_it_is_may_stand_there(beta1: Any, op: Any, begins: Any):
    parts = [X[:, at : at + 4] for at in (0, 4, 8)]
    wanted = {np.add: np.add, np.max: np.maximum, np.min: np.minimum, np.multiply: np.multiply}[op]
    assert (reducing(beta1, op, begins)(X) == wanted(wanted(parts[0], parts[1]), parts[2])).all()


@pytest.mark.parametrize(
    ("op", "begins", "turns"),
    [
        (np.add, by(7.0), 3), (np.max, by(0.0), 3), (np.min, by(0.0), 3), (np.multiply, by(0.0), 3),
        (np.add, loaded, 3), (np.add, loaded, 1), (np.add, by(7.0), 1),
    ],
)  # fmt: skip
def test_what_changes_it_is_refused_with_its_line(beta1: Any, op: Any, begins: Any, turns: int):
    with pytest.raises(TraceError) as caught:
        reducing(beta1, op, begins, turns)(X)
    assert caught.value.code == "NKI-LOOP-REDUCE"
    assert caught.value.line


def test_a_sum_that_begins_again_in_an_outer_loop_is_refused(beta1: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((2, 64, 2), dtype=np.float32, buffer=nl.shared_hbm)
        p, f = nl.arange(64)[:, None], nl.arange(2)[None, :]
        total = nl.ndarray((nl.par_dim(64), 2), dtype=np.float32, buffer=nl.sbuf)
        for half in nl.sequential_range(2):
            for i in nl.affine_range(3):
                part = nl.load(x[p, 6 * half + 2 * i + f])
                total[p, f] = nl.loop_reduce(part, op=np.add, loop_indices=[i])
            nl.store(out[half, p, f], total)
        return out

    with pytest.raises(TraceError) as caught:
        kernel(X)
    assert caught.value.code == "NKI-LOOP-REDUCE"


@pytest.mark.parametrize("dtype", [np.int32, "bfloat16"])
def test_a_format_that_is_not_the_destinations_is_refused(beta1: Any, dtype: Any):
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((64, 4), dtype=np.float32, buffer=nl.shared_hbm)
        p, f = nl.arange(64)[:, None], nl.arange(4)[None, :]
        total = nl.ndarray((nl.par_dim(64), 4), dtype=np.float32, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            total[p, f] = nl.loop_reduce(nl.load(x[p, 4 * i + f]), op=np.add, loop_indices=[i], dtype=dtype)
        nl.store(out[p, f], total)
        return out

    with pytest.raises(TraceError) as caught:
        kernel(X)
    assert caught.value.code == "NKI-DTYPE"
