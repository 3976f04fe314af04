"""Loops and launch grid: ranges that Python unrolls, loops whose trip count only execution knows, and the two cores."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from nki_anvil.sim import isa, versions
from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.program import NONE
from nki_anvil.sim.register import VirtualRegister, numbered


def affine_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """``range``."""
    return range(0, start, step) if stop is None else range(start, stop, step)


def sequential_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """``range``."""
    return affine_range(start, stop, step)


def static_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """``range``."""
    return affine_range(start, stop, step)


def dynamic_range(start: Any, stop: Any = None, step: int = 1) -> Iterator[VirtualRegister]:
    """One symbolic index, until NKI 0.6."""
    if not versions.before(live().version, "0.7"):
        raise TraceError(
            "NKI-REMOVED", "nl.dynamic_range is gone since NKI 0.7.", remedy="Use nl.fori_loop(lower, upper, body)."
        )
    index = numbered(VirtualRegister, live().register().index, frozen=True)
    return _symbolic(index, 0 if stop is None else start, start if stop is None else stop, step)


def _symbolic(index: VirtualRegister, lower: Any, upper: Any, step: int) -> Iterator[VirtualRegister]:
    builder = live()
    bounds = (*_bound(lower), *_bound(upper))
    loop = builder.open_loop("fori", index, (bounds[0], bounds[2], step), (bounds[1], bounds[3]))
    yield index
    builder.close_loop(loop)


def _bound(value: Any) -> tuple[int, int]:
    """(number, register) of which the second is NONE for a number."""
    return (0, value.index) if isinstance(value, VirtualRegister) else (int(value), NONE)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[VirtualRegister], Any], step: Any = 1) -> None:
    """A counted loop whose bounds may be registers; the body is traced once."""
    if not isinstance(step, int) or step < 1:
        raise TraceError("NKI-CONTROL", f"nl.fori_loop steps by {step!r}.", remedy="The step is a positive integer.")
    for index in _symbolic(_index(lower, upper), lower, upper, step):
        body_fun(index)


def _index(*bounds: Any) -> VirtualRegister:
    """What the body gets: since NKI 0.7 a scalar, but a plain register where a bound is one."""
    builder = live()
    register = builder.register()
    plain = any(isinstance(bound, VirtualRegister) and not isinstance(bound, isa.NkiScalar) for bound in bounds)
    return register if plain or versions.before(builder.version, "0.7") else numbered(isa.NkiScalar, register.index)


def while_loop(init: Any, body_fun: Callable[[VirtualRegister], Any]) -> None:
    """Repeat while a register is not zero; the body returns the next condition and is traced once."""
    if not isinstance(init, VirtualRegister):
        raise TraceError(
            "NKI-CONTROL", "nl.while_loop begins with no register.", remedy="Load one with nisa.register_load."
        )
    builder, condition = live(), live().register()
    isa.register_move(condition, init)
    loop = builder.open_loop("while", condition, (0, 0, 1), (NONE, NONE))
    following = body_fun(condition)
    if not isinstance(following, VirtualRegister):
        raise TraceError(
            "NKI-CONTROL", "The body of nl.while_loop returns no register.", remedy="Return the next condition."
        )
    if following is not condition:
        isa.register_move(condition, following)
    builder.close_loop(loop)


@contextmanager
def no_reorder() -> Generator[None]:
    """Instructions in program order, which a program has anyway."""
    builder = live()
    builder.in_order += 1
    try:
        yield
    finally:
        builder.in_order -= 1


def program_id(axis: int = 0) -> int:
    """Which core of the launch runs."""
    _require_the_one(axis)
    return live().core


def num_programs(axes: Any = 0) -> int:
    """How many cores run the kernel."""
    _require_the_one(axes)
    return live().cores


def _require_the_one(axis: Any) -> None:
    if axis not in (0, None, (0,), [0]):
        raise TraceError(
            "NKI-ARGUMENT", f"Axis {axis!r} of a launch grid.", remedy="A kernel is launched on one axis of cores: 0."
        )


def program_ndim() -> int:
    """1 for ``kernel[1]`` and ``kernel[2]``, 0 for a launch without brackets."""
    return int(live().gridded)
