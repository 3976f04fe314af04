"""A sum of floats that another Python rounds otherwise is told, and any other is Python's own."""

import pytest

from nki_anvil.backends.worker.adding import RoundedOtherwise, added


@pytest.mark.parametrize("values", [[1, 2, 3], [0.25, 0.5], [], [[1], [2]], [float("inf"), 1.0]])
def test_other_sums_are_as_python_makes_them(values: list[object]) -> None:
    start: object = [] if values and isinstance(values[0], list) else 0
    assert added(values, start) == sum(values, start)  # type: ignore[call-overload]


def test_a_sum_that_is_rounded_on_the_way_is_told() -> None:
    with pytest.raises(RoundedOtherwise, match=r"Python from 3\.12 on"):
        added([0.1] * 10)
