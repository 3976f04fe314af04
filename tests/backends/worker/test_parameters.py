"""A kernel takes its tensors alike by place and by name, however it came to be a kernel."""

from collections.abc import Callable
from typing import Any

import pytest

from nki_anvil.backends.worker import parameters

INPUTS = ["x", "gain"]


class Grouped:
    @staticmethod
    def kernel(x: Any, *more: Any, **named: Any) -> None: ...


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda x, gain: None, ""),
        (lambda left, right, tile=128: None, ""),
        (lambda *given: None, ""),
        (lambda x, *gain, **named: None, "by any name"),
        (lambda *given, gain=None: None, "by any name"),
        (Grouped.kernel, "by any name"),
        (lambda gain, x: None, "`gain` is input 1 of the problem, and the kernel takes it as parameter 0"),
        (lambda x, *, gain: None, "by name alone"),
    ],
)
def test_a_kernel_names_its_tensors_in_the_inputs_order(kernel: Callable[..., Any], said: str) -> None:
    if not said:
        parameters.check(kernel, INPUTS)
    else:
        with pytest.raises(parameters.TakenByName, match=said):
            parameters.check(kernel, INPUTS)


def test_a_kernel_is_called_by_names_that_it_has_all_of_and_that_mean_nothing_else() -> None:
    assert parameters.are_known(lambda x, gain, tile=1: None, INPUTS, {})
    assert not parameters.are_known(lambda x, weight: None, INPUTS, {})
    assert not parameters.are_known(lambda x, gain: None, INPUTS, {"gain": 1})
