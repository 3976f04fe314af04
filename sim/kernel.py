"""``nki.jit`` and ``nki.simulate``: a kernel function with its launch, callable inside a trace and out of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from nki_anvil.sim.builder import LIVE
from nki_anvil.sim.compiler import check_options


class Kernel:
    """A jitted function. ``kernel[2]`` runs it on two cores; a call outside of a trace simulates it."""

    def __init__(self, function: Callable[..., Any], cores: int = 1) -> None:
        self.function = function
        self.cores = cores
        functools.update_wrapper(self, function)

    def __getitem__(self, lnc: Any) -> Kernel:
        return Kernel(self.function, int(cast("tuple[Any, ...]", lnc)[0] if isinstance(lnc, tuple) else lnc))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if LIVE.get(None) is not None:
            return self.function(*args, **kwargs)
        from nki_anvil.sim.simulation import simulate

        return simulate(self, *args, **kwargs)

    def with_schedule(self, schedule: Any) -> Kernel:
        """The same kernel; a schedule's hints do not change what it computes."""
        return self


def jit(fn: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Decorate a kernel, with or without arguments. Raises TraceError for those that the installed version refuses."""
    check_options(kwargs)
    if fn is None:
        return jit
    return fn if isinstance(fn, Kernel) else Kernel(fn)


def simulated(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """``nki.simulate``: a function that runs the kernel on arrays and returns arrays."""
    from nki_anvil.sim.simulation import simulate

    return functools.partial(simulate, kernel)
