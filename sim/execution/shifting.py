"""Bit operators on integers, and what a shift by a whole width or more leaves.

That is told nowhere: nothing, or what the width's remainder moves it by, by lot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.alu import operation
from nki_anvil.sim.execution.bench import Bench

SHIFTS: Final = ("left_shift", "right_shift")


def bit_operation(bench: Bench, name: str, reverse: bool = False) -> Callable[..., Any]:
    """An operator ``(a, b, out)`` by name; ``reverse`` exchanges its operands."""
    return partial(_shift, bench, name, reverse) if name in SHIFTS else operation(name, reverse)


def _shift(bench: Bench, name: str, reverse: bool, a: Any, b: Any, out: NDArray[Any], **options: Any) -> None:
    values, places = (b, a) if reverse else (a, b)
    if bench.lots.other("shift", name):
        places = places % (8 * np.result_type(values).itemsize)
    operation(name)(values, places, out, **options)
