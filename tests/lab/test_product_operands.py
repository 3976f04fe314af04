"""Operands that are rounded to less than float32, and at which scale."""

from __future__ import annotations

import numpy as np
import pytest

from nki_anvil.lab import product_operands
from nki_anvil.lab.formats import UNIT_ROUNDOFF, rounded

OPERAND = np.random.default_rng(3).standard_normal((4, 6, 32)).astype(np.float32)


@pytest.mark.parametrize("axis", [-1, -2])
def test_terms_of_one_sum_are_rounded_at_one_scale_and_each_sum_at_its_own(axis: int) -> None:
    terms = np.broadcast_to(np.float32(1 / 3), OPERAND.shape)
    found = product_operands.at_another_scale("bfloat16", np.random.default_rng(1))(terms, axis)
    off = np.unique(found, axis=axis)
    assert off.shape[axis] == 1
    assert len(np.unique(off)) > 1
    assert np.abs(found * 3 - 1).max() <= UNIT_ROUNDOFF["bfloat16"] * 1.001


@pytest.mark.parametrize("rounding", ["as it is", "at another scale"])
def test_what_the_precision_holds_is_not_rounded(rounding: str) -> None:
    held = rounded(OPERAND.astype(np.float64), "bfloat16").astype(np.float32)
    rng = np.random.default_rng(1)
    how = {
        "as it is": product_operands.as_it_is("bfloat16"),
        "at another scale": product_operands.at_another_scale("bfloat16", rng),
    }[rounding]
    assert np.array_equal(how(held, -1), held)
    assert not np.array_equal(how(OPERAND, -1), OPERAND)
