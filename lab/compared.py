"""Which single numbers decide in a run of the reference: those of comparisons, limits and parts; a logarithm's one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.lab.arithmetic import in_force

DECIDING: Final = frozenset({
    np.rint, np.floor, np.ceil, np.trunc, np.sign, np.floor_divide, np.remainder, np.fmod, np.divmod, np.modf,
    np.frexp, np.heaviside, np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal,
})  # fmt: skip
"""What makes a step of a number."""
LIMITING: Final = frozenset({"maximum", "minimum", "fmax", "fmin", "clip"})
"""What lets numbers through up to another one."""
LOGARITHMS: Final = frozenset({np.log, np.log2, np.log10})
"""What is nothing at one, and turns its sign there."""
FEW: Final = 4
"""Numbers beside an array that may be meant one by one."""


def note(ufunc: np.ufunc, operands: Sequence[Any]) -> None:
    """Keep the single numbers of one operation in the arithmetic in force."""
    if ufunc in DECIDING or ufunc.__name__ in LIMITING:
        if recording := in_force().recording:
            recording.weigh(operands)
        in_force().compared.update(number for operand in operands for number in _single(operand))
    elif ufunc in LOGARITHMS:
        in_force().compared.add(1.0)


def edges_in_force(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, numbers between which places are looked for in the format in force; few of them are kept."""
    place = _EDGES.get(function)
    if place is None or len(arguments) <= place or not np.ndim(arguments[place]):
        return arguments
    edges: np.ndarray[Any, Any] = np.asanyarray(arguments[place])
    in_force().compared.update(_single(edges))
    kept = edges.astype(in_force().dtype) if edges.dtype.kind == "f" else edges
    return (*arguments[:place], kept, *arguments[place + 1 :])


_EDGES: Final = {np.searchsorted: 0, np.digitize: 1, np.histogram: 1}


def _single(operand: Any) -> Iterator[float]:
    numbers: np.ndarray[Any, Any] = np.asarray(operand)
    if numbers.size <= FEW and numbers.dtype.kind in "fiu":
        yield from (float(number) for number in numbers.reshape(-1).tolist() if np.isfinite(number))
