"""Calls a kernel twice in one function, as a larger kernel does, and looks whether the second is the kernel alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, cast

import numpy as np

Arguments = Sequence[Any]

_SAME: Final = 1e-6
"""How far a number may be from its float32, relative to itself, to be handed on as one."""


def is_the_kernel(
    function: Any,
    before: Arguments,
    inputs: Arguments,
    *,
    memory: str = "shared_hbm",
    single: bool = False,
    **version: Any,
) -> bool:
    """Whether behind a call with ``before`` it does for ``inputs`` what it does alone.

    They are tensors of its caller's in that ``memory``, as what a larger kernel hands on is, and numbers of NumPy's:
    np.int64, and np.float64 or, where ``single``, np.float32. With these NumPy computes in float32, and the programs'
    numbers are nearly the same. True where it cannot be called so: a grid of Beta 1 is launched by nobody's function,
    and what raises there is no wrong result.
    """
    from nki_anvil.sim.beta1.kernel import is_beta1
    from nki_anvil.sim.beta1.kernel import jit as beta1_jit
    from nki_anvil.sim.errors import NotSimulated, TraceError
    from nki_anvil.sim.kernel import Kernel, jit
    from nki_anvil.sim.tracing import tensor_arguments, trace
    from nki_anvil.sim.unfolded import calls_alike

    kernel: Kernel = jit(function)
    if kernel.launch and is_beta1(kernel):
        return True
    handed = [_of_numpy(one, single) for one in inputs]
    count = len(tensor_arguments([*before, *inputs], {}))
    both = _both(function, len(before), memory, count, handed)
    caller = beta1_jit(both) if is_beta1(kernel) else Kernel(both, kernel.cores)
    try:
        alone = trace(function, *(_of_python(one) for one in handed), **version)
        behind = trace(caller, *before, *inputs, **version)
    except (TraceError, NotSimulated):
        return True
    return calls_alike(alone, behind, count, nearly=single)


def _of_numpy(value: Any, single: bool) -> Any:
    """A number as a caller's NumPy has it; anything else as it is."""
    if isinstance(value, int):
        return np.int64(value)
    if not isinstance(value, float):
        return value
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    near = math.isclose(float(rounded), value, rel_tol=_SAME)
    return rounded if single and near else np.float64(value)


def _of_python(value: Any) -> Any:
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def _both(function: Callable[..., Any], first: int, memory: str, count: int, handed: Arguments) -> Callable[..., Any]:
    """The caller; it hands numbers on as they are in ``handed``, and tensors of its own from argument ``count`` on."""

    def both(*arguments: Any) -> Any:
        function(*arguments[:first])
        numbers = iter(range(count, count + len(arguments)))
        pairs = zip(arguments[first:], handed, strict=True)
        return function(
            *(known if isinstance(known, np.generic) else _own(one, memory, numbers) for one, known in pairs)
        )

    return both


def _own(value: Any, memory: str, numbers: Iterator[int]) -> Any:
    """A tensor of the caller's, whose values nobody asks for."""
    from nki_anvil.sim.beta1.tile import Tile
    from nki_anvil.sim.builder import live
    from nki_anvil.sim.memory import MemoryRegion

    if not hasattr(value, "buffer"):
        return value
    tensor = live().allocate(value.shape, value.dtype, MemoryRegion[memory], role="input", argument=next(numbers))
    return Tile(tensor) if isinstance(value, Tile) else tensor
