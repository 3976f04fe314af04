"""Calls a kernel twice in one function, as a larger kernel does, and looks whether the second is the kernel alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

Arguments = Sequence[Any]


def is_the_kernel(
    function: Any, before: Arguments, inputs: Arguments, *, memory: str = "shared_hbm", **version: Any
) -> bool:
    """Whether behind a call with ``before`` it does for ``inputs`` what it does alone.

    They are tensors of its caller's in that ``memory``, as what a larger kernel hands on is. True where it cannot be
    called so: a grid of Beta 1 is launched by nobody's function, and what raises there is no wrong result.
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
    count = len(tensor_arguments([*before, *inputs], {}))
    both = _both(function, len(before), memory, count)
    caller = beta1_jit(both) if is_beta1(kernel) else Kernel(both, kernel.cores)
    alone = trace(function, *inputs, **version)
    try:
        behind = trace(caller, *before, *inputs, **version)
    except (TraceError, NotSimulated):
        return True
    return calls_alike(alone, behind, count)


def _both(function: Callable[..., Any], first: int, memory: str, count: int) -> Callable[..., Any]:
    """The caller; tensors of its own stand for arguments from ``count`` on."""

    def both(*arguments: Any) -> Any:
        function(*arguments[:first])
        numbers = iter(range(count, count + len(arguments)))
        return function(*(_own(one, memory, numbers) for one in arguments[first:]))

    return both


def _own(value: Any, memory: str, numbers: Iterator[int]) -> Any:
    """A tensor of the caller's, whose values nobody asks for; or the number, as the caller's NumPy computes it."""
    from nki_anvil.sim.beta1.tile import Tile
    from nki_anvil.sim.builder import live
    from nki_anvil.sim.memory import MemoryRegion

    if not hasattr(value, "buffer"):
        return np.float64(value) if isinstance(value, float) else value
    tensor = live().allocate(value.shape, value.dtype, MemoryRegion[memory], role="input", argument=next(numbers))
    return Tile(tensor) if isinstance(value, Tile) else tensor
