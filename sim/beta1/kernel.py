"""``nki.jit`` and its relatives of Beta 1: a kernel function with its launch grid."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, cast

from nki_anvil.sim import running_modes
from nki_anvil.sim.errors import NotSimulated
from nki_anvil.sim.kernel import Kernel


class Beta1Kernel(Kernel):
    """A jitted function. ``kernel[4, 2]`` runs eight programs; a call outside of a trace simulates it."""

    def __init__(
        self,
        function: Callable[..., Any],
        grid: tuple[int, ...] = (),
        *,
        only_simulated: bool = False,
        target: str | None = None,
    ) -> None:
        super().__init__(function)
        self.grid = grid
        self.only_simulated = only_simulated
        """Jitted with ``mode="simulation"``: no device compiles it, and it may return tiles on chip."""
        self.target = target
        """The chip that its decorator names."""

    @property
    def launch(self) -> tuple[int, ...]:
        """Its grid, where that has more than one program."""
        return self.grid if any(size > 1 for size in self.grid) else ()

    def __getitem__(self, grid: Any) -> Beta1Kernel:
        sizes = cast("tuple[Any, ...]", grid) if isinstance(grid, tuple) else (grid,)
        extents = tuple(operator.index(size) for size in sizes)
        return Beta1Kernel(self.function, extents, only_simulated=self.only_simulated, target=self.target)

    def body(self) -> Callable[..., Any]:
        """Its function, whose loops are read as those of the kernel that calls it."""
        from nki_anvil.sim.beta1.ranges import with_loops

        return with_loops(self.function)

    @property
    def benchmark_result(self) -> Any:
        """Not there: nothing was measured."""
        raise NotSimulated(
            "Nothing is measured here: there is no benchmark_result.",
            remedy="nki_anvil.sim.estimate(program) gives a modelled latency.",
        )


def jit(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a kernel. A target has to be the chip; raises TraceError for modes and flags that change what is run."""
    running_modes.check(options)
    if func is None:
        return functools.partial(jit, **options)
    if isinstance(func, Beta1Kernel):
        return func
    return Beta1Kernel(func, only_simulated=options.get("mode") == "simulation", target=options.get("platform_target"))


def wrapper(*arguments: Any, **options: Any) -> Any:
    """``baremetal``, ``benchmark``, ``profile``: with a function or with options only."""
    if arguments and callable(arguments[0]):
        return jit(arguments[0])
    return functools.partial(jit, platform_target=options.get("platform_target"))


def simulate_kernel(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The kernel's outputs on arrays; arguments that it writes change in place."""
    from nki_anvil.sim.simulation import simulate

    return simulate(jit(kernel), *args, **kwargs)


def is_beta1(kernel: Kernel) -> bool:
    """Whether a function speaks Beta 1: it was jitted so, or its text imports ``neuronxcc.nki``."""
    if isinstance(kernel, Beta1Kernel):
        return True
    function = kernel.function
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    names = tuple(getattr(code, "co_names", ()))
    if any(name.partition(".")[0] == "neuronxcc" for name in names):
        return True
    around = getattr(function, "__globals__", {})
    enclosed = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _filled(cell)]
    return any(_of_beta1(value) for value in [*map(around.get, names), *enclosed])


def _filled(cell: Any) -> bool:
    """Whether a closure's variable has a value yet."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _of_beta1(value: Any) -> bool:
    return getattr(value, "__name__", "").startswith("neuronxcc") or isinstance(value, Beta1Kernel)
