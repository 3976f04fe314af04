"""Calls a kernel several times in one function, as a larger kernel does, and looks whether each is the kernel alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

if TYPE_CHECKING:
    from nki_anvil.sim.errors import TraceError
    from nki_anvil.sim.program import Program

Arguments = Sequence[Any]

_SAME: Final = 1e-6
"""How far a number may be from its float32, relative to itself, to be handed on as one."""


class Call(NamedTuple):
    """A kernel's arguments, and its program for them where nothing else is called."""

    arguments: Arguments
    program: Program


class RaisesBehind(Exception):
    """A kernel is right alone, and raises where it is called as a larger kernel calls it."""

    code = "TraceUnstable"
    remedy = "Whatever was called before, and whoever made its tensors and numbers, a kernel does the same."

    def __init__(self, error: TraceError) -> None:
        self.line = error.line
        super().__init__(
            f"Called several times by a function that hands on tensors and numbers of its own, it raises: {error}"
        )


def has_callers(function: Any) -> bool:
    """Whether another function can call it: a grid of Beta 1 is launched by none."""
    from nki_anvil.sim.beta1.kernel import is_beta1
    from nki_anvil.sim.kernel import Kernel, jit

    kernel: Kernel = jit(function)
    return not (kernel.launch and is_beta1(kernel))


def is_the_kernel(
    function: Any,
    before: Sequence[Call],
    call: Call,
    *,
    memory: str = "shared_hbm",
    single: bool = False,
    names: Sequence[str] = (),
    **version: Any,
) -> bool:
    """Whether behind other calls it does in one what it does alone. Raises RaisesBehind where it does not end it.

    In that one it is given tensors of its caller's in that ``memory``, as what a larger kernel hands on is, and numbers
    of NumPy's: np.int64, and np.float64 or, where ``single``, np.float32. With these NumPy computes in float32, and the
    programs' numbers are nearly the same, as they are where Python's own are rounded; a kernel that refuses them is
    given Python's. True where it has no callers.
    """
    from nki_anvil.sim.beta1.kernel import is_beta1
    from nki_anvil.sim.beta1.kernel import jit as beta1_jit
    from nki_anvil.sim.errors import TraceError
    from nki_anvil.sim.kernel import Kernel, jit
    from nki_anvil.sim.tracing import tensor_arguments, trace
    from nki_anvil.sim.unfolded import Part, one_after_the_other

    kernel: Kernel = jit(function)
    if not has_callers(kernel):
        return True
    if kernel.cores > 1 and _returns_an_input(call.program):  # each core has private memory of its own
        memory = "shared_hbm"
    handed, alone = _alone(function, call, version, single=single)
    if alone is not call.program and not one_after_the_other([Part(alone, 0)], call.program, nearly=True):
        return False
    arguments = [*(one for each in before for one in each.arguments), *call.arguments]
    counts = [len(tensor_arguments(each.arguments, {})) for each in (*before, call)]
    firsts = [*accumulate(counts, initial=0)][: len(before)]
    lengths = [len(each.arguments) for each in before]

    def behind(handed: Arguments) -> Program:
        caller = _caller(function, lengths, memory, sum(counts), handed, names)
        outer = beta1_jit(caller) if is_beta1(kernel) else Kernel(caller, kernel.cores, gridded=kernel.gridded)
        return trace(outer, *arguments, **version)

    try:
        together = behind(handed)
    except TraceError:  # a kernel may refuse NumPy's numbers, and is asked with its own
        alone = call.program
        try:
            together = behind(call.arguments)
        except TraceError as error:
            raise RaisesBehind(error) from error
    parts = [Part(each.program, first) for each, first in zip(before, firsts, strict=True)]
    return one_after_the_other([*parts, Part(alone, sum(counts))], together, nearly=single)


def _returns_an_input(program: Program) -> bool:
    from nki_anvil.sim.program import ROLES

    returned = program.tables["accesses"]["tensor"][program.tables["outputs"]["access"]]
    return bool((program.tables["tensors"]["role"][returned] == ROLES.index("input")).any())


def _alone(function: Any, call: Call, version: dict[str, Any], *, single: bool) -> tuple[Arguments, Program]:
    """The arguments with numbers of NumPy's, and the program for what these are in Python.

    Numbers that float32 rounds to some that the kernel does not take are handed on as np.float64.
    """
    from nki_anvil.sim.errors import TraceError
    from nki_anvil.sim.tracing import trace

    rounded = [_of_numpy(one, single) for one in call.arguments]
    plain = [_of_python(one) for one in rounded]
    if plain == [*call.arguments]:
        return rounded, call.program
    try:
        return rounded, trace(function, *plain, **version)
    except TraceError:
        return [_of_numpy(one, False) for one in call.arguments], call.program


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


def _caller(
    function: Any, lengths: Sequence[int], memory: str, count: int, handed: Arguments, names: Sequence[str]
) -> Callable[..., Any]:
    """What calls the kernel with so many of its arguments each, then with the rest.

    It hands the rest's numbers on as they are in ``handed``, and tensors of its own from argument ``count`` on, by
    their ``names`` where there are any. Those in shared memory are the same to every core on which it runs.
    """
    from nki_anvil.sim.builder import live

    shared: dict[int, Any] = {}

    def own(value: Any, number: int) -> Any:
        if memory != "shared_hbm":
            return _own(value, memory, number)
        if number not in shared:
            shared[number] = _own(value, memory, number)
        return shared[number]

    def caller(*arguments: Any) -> Any:
        left = [*arguments]
        returned: list[Any] = []
        for length in lengths:
            live().begin_call()
            returned.append(function(*(left.pop(0) for _ in range(length))))
        numbers = iter(range(count, count + len(left)))
        given: list[Any] = [
            known if isinstance(known, np.generic) else own(one, next(numbers)) if hasattr(one, "buffer") else one
            for one, known in zip(left, handed, strict=True)
        ]
        live().begin_call()
        return *returned, function(**dict(zip(names, given, strict=True))) if names else function(*given)

    return caller


def _own(value: Any, memory: str, number: int) -> Any:
    """A tensor of the caller's, whose values nobody asks for."""
    from nki_anvil.sim.beta1.tile import Tile
    from nki_anvil.sim.builder import live
    from nki_anvil.sim.dtypes import as_dtype
    from nki_anvil.sim.memory import MemoryRegion

    dtype = as_dtype(value.dtype)
    tensor = live().allocate(value.shape, dtype, MemoryRegion[memory], role="input", argument=number)
    return Tile(tensor) if isinstance(value, Tile) else tensor
