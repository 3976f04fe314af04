"""``nki.jit`` and ``nki.simulate``: a kernel function with its launch, callable inside a trace and out of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.sim.builder import LIVE
from nki_anvil.sim.compiler import check_options
from nki_anvil.sim.errors import NotSimulated


class Kernel:
    """A jitted function. ``kernel[2]`` runs it on two cores; a call outside of a trace simulates it."""

    def __init__(self, function: Callable[..., Any], cores: int = 1, *, gridded: bool = False) -> None:
        self.function = function
        self.cores = cores
        self.gridded = gridded or cores > 1
        """Whether its launch has an axis, as that of ``kernel[1]`` has."""
        functools.update_wrapper(self, function)

    @property
    def launch(self) -> tuple[int, ...]:
        """What it is launched on where that says more than its caller does: a pair of cores."""
        return (self.cores,) if self.cores > 1 else ()

    def __getitem__(self, lnc: Any) -> Kernel:
        cores = int(cast("tuple[Any, ...]", lnc)[0] if isinstance(lnc, tuple) else lnc)
        return Kernel(self.function, cores, gridded=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        caller = LIVE.get(None)
        if caller is not None:
            if self.launch not in ((), (caller.cores,)):
                raise _launched_inside(self.launch)
            return self.body()(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        from nki_anvil.sim.simulation import simulate

        return simulate(self, *args, **kwargs)

    def body(self) -> Callable[..., Any]:
        """What runs where another kernel calls this one."""
        return self.function

    def with_schedule(self, schedule: Any) -> Kernel:
        """The same kernel; a schedule's hints do not change what it computes."""
        return self


def plain(value: Any) -> Any:
    """An argument with Python's numbers in place of NumPy's, wherever it is called from."""
    if isinstance(value, (list, tuple)):
        items = map(plain, cast("Sequence[Any]", value))
        return tuple(items) if isinstance(value, tuple) else list(items)
    return cast("Any", value).item() if isinstance(value, np.generic) else value


def _launched_inside(launch: tuple[int, ...]) -> NotSimulated:
    shown = ", ".join(map(str, launch))
    return NotSimulated(
        f"A kernel that is launched on [{shown}] is called inside of another one.",
        remedy="Call the plain function there, and launch the outer kernel.",
    )


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
