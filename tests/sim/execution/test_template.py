"""Templates of steps: views of stand-ins are found again, in whatever part of an operand they look at."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.sim.execution.template import StandIns

SHAPE = (4, 6)
SIZE = 4
SLICES = st.tuples(*[st.builds(slice, st.integers(0, 3), st.integers(4, 6), st.sampled_from([1, 2]))] * 2)
FLIPS = st.tuples(*[st.sampled_from([1, -1])] * 2)


def storage(offset: int) -> Any:
    """A block of bytes with an operand of SHAPE that begins ``offset`` elements after its start."""
    block = np.zeros(offset * SIZE + 4 * 6 * SIZE, np.uint8)
    block.view(np.float32)[:] = np.arange(len(block) // SIZE)
    return block


@given(part=SLICES, flips=FLIPS, offset=st.integers(0, 5))
def test_a_step_on_part_of_an_operand_is_bound_to_that_part_elsewhere(
    part: tuple[slice, slice], flips: tuple[int, int], offset: int
) -> None:
    original, block = np.zeros(SHAPE, np.float32)[:: flips[0], :: flips[1]], storage(offset)
    first = sum((n - 1) * step for n, step, flip in zip(SHAPE, (6, 1), flips, strict=True) if flip < 0)
    place = (block, (offset + first) * SIZE)
    operand = block.view(np.float32)[offset:].reshape(SHAPE)[:: flips[0], :: flips[1]]
    stand_ins = StandIns()
    view = stand_ins.take(0, original)[part].T
    template = stand_ins.template([partial(view.fill, -1.0), partial(np.negative, view, out=view)])
    assert template is not None
    expected = operand.copy()
    expected[part] = 1.0
    for step in template.bind([place]):
        step()
    assert (operand == expected).all()


def test_two_operands_in_one_tensor_are_told_apart() -> None:
    stand_ins = StandIns()
    tile = np.zeros(8, np.float32)
    one, other = stand_ins.take(0, tile[:4]), stand_ins.take(1, tile[:4])
    template = stand_ins.template([partial(np.copyto, one, other)])
    assert template is not None
    block = np.arange(8, dtype=np.float32).view(np.uint8)
    for step in template.bind([(block, 0), (block, 16)]):
        step()
    assert block.view(np.float32).tolist() == [4, 5, 6, 7, 4, 5, 6, 7]


def test_a_step_that_hides_an_operand_has_no_template() -> None:
    stand_ins = StandIns()
    view = stand_ins.take(0, np.zeros(4, np.float32))

    def closed() -> None:
        view.fill(0)

    class Holder:
        held = view

    hidden: tuple[Any, ...] = (
        partial(closed),
        partial(list, [view]),
        partial(str, Holder()),
        partial(partial(list, [view])),
        closed,
    )
    for step in hidden:
        assert stand_ins.template([step]) is None
