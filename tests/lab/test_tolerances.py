"""A tolerance is the problem's own, or a tighter one."""

import pytest

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab.tolerances import tolerance


@pytest.mark.parametrize("wanted", [0.0, -1.0, 3e-5, float("nan"), float("inf")])
def test_what_is_looser_or_nothing_is_refused_with_both_numbers(wanted: float):
    with pytest.raises(ArgumentsInvalid, match=r"is not above zero and up to the problem's own 2e-05"):
        tolerance(2e-5, wanted, "float32", [])


def test_a_tighter_one_holds_and_the_own_one_where_none_is_wanted():
    assert tolerance(2e-5, 1e-6, "float32", []) == 1e-6
    assert tolerance(2e-5, None, "float32", []) == 2e-5
