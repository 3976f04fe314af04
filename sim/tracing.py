"""Running a kernel once, without data, to obtain its program. What the program does is not looked at here."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, cast

import numpy as np

from nki_anvil.sim import habits, versions
from nki_anvil.sim.beta1.kernel import is_beta1
from nki_anvil.sim.builder import LIVE, Builder
from nki_anvil.sim.dtypes import as_dtype
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.kernel import Kernel, plain
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.program import Program
from nki_anvil.sim.tensor import NkiTensor

__all__ = ["ArraySpec", "NotSimulated", "TraceError", "tensor_arguments", "trace"]

_CORES: Final = (1, 2)
_PRINTED_LIMIT: Final = 100_000
"""Characters of trace-time output that a program keeps."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Stands for an array where only its shape and dtype matter."""

    shape: tuple[int, ...]
    dtype: Any


def trace(fn: Callable[..., Any], *args: Any, chip: str = "trn2", version: str | None = None, **kwargs: Any) -> Program:
    """The program of a kernel for these arguments; of arrays only shape and dtype are used.

    Without ``version`` it is traced under that of the installed modules, else the current one. ``fn`` is a plain or a
    jitted function, or ``kernel[2]``. Raises TraceError, with the kernel's line, for whatever
    goes wrong inside of the kernel.
    """
    kernel = fn if isinstance(fn, Kernel) else Kernel(fn)
    if kernel.cores not in _CORES:
        raise TraceError("NKI-LNC", f"A launch on {kernel.cores} cores.", remedy="A logical core is 1 or 2: kernel[2].")
    builder = _builder(kernel, chip, versions.chosen(version))
    token = LIVE.set(builder)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            builder = _run(builder, kernel, args, kwargs)
    except TraceError as error:
        _place(error, builder.source, error.__traceback__)
        raise
    except Exception as error:
        explained = habits.explain(error, builder.source)
        _place(explained, builder.source, error.__traceback__)
        raise explained from error
    finally:
        LIVE.reset(token)
    return builder.finish(printed.getvalue()[:_PRINTED_LIMIT])


def _builder(kernel: Kernel, chip: str, version: str) -> Builder:
    """What collects the program: of the current dialect, or of Beta 1."""
    if not is_beta1(kernel):
        return Builder(chip, version, source_file(kernel), kernel.cores, gridded=kernel.gridded)
    from nki_anvil.sim.beta1.recorder import Recorder

    return Recorder(chip, version, source_file(kernel))


def source_file(kernel: Any) -> str:
    """The file whose lines a program is marked with: that of the innermost function."""
    function = inspect.unwrap(kernel)
    while hasattr(function, "func"):  # functools.partial
        function = inspect.unwrap(function.func)
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return str(code.co_filename) if code is not None else ""


def _run(builder: Builder, kernel: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Builder:
    """Run the kernel; returns the builder that holds its program."""
    if is_beta1(kernel):
        from nki_anvil.sim.beta1 import trace as beta1

        recorder: Any = builder
        return beta1.traced(recorder, kernel, lambda one: beta1.wrapped_all(*_arguments(one, kernel, args, kwargs)))
    if versions.parsed(builder.version):
        _check_arguments((*args, *kwargs.values()))
    bound, named = _arguments(builder, kernel, args, kwargs)
    found: list[list[int]] = []
    for core in range(kernel.cores):
        builder.begin_core(core)
        returned = _outputs(kernel.function(*bound, **named))
        builder.end_core()
        found.append([builder.access(tensor) for tensor in returned])
        if core == 0:
            for tensor in returned:
                builder.output(tensor)
    if found[1:] and found[0] != found[1]:
        raise TraceError(
            "NKI-LNC",
            "The two cores return different tensors.",
            remedy="Return the same ones, outside of branches on program_id.",
        )
    return builder


def _arguments(
    builder: Builder, kernel: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as the kernel gets them."""
    count = iter(range(sys.maxsize))
    bound = [_bind(builder, value, count) for value in args]
    named = {name: _bind(builder, value, count, name) for name, value in kwargs.items()}
    _name_arguments(kernel.function, bound)
    return bound, named


def _check_arguments(values: Sequence[Any]) -> None:
    """Refuse what the compilers that parsed kernels refused to take (NKI 0.3 to 0.6)."""
    if any(isinstance(value, list) for value in values):
        raise TraceError("NKI-SUBSET-LIST", "An argument is a list.", remedy="Pass a tuple: kernels are cached by it.")


def tensor_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arrays among a kernel's arguments, in the order in which a program counts them."""
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        found.extend(_arrays(value))
    return found


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from _arrays(item)
    elif is_array(value):
        yield value


def is_array(value: Any) -> bool:
    """Whether an argument stands for a tensor: it has a shape and a dtype, and is neither NumPy scalar nor dtype."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, (np.generic, type))


def _bind(builder: Builder, value: Any, count: Iterator[int], name: str = "") -> Any:
    """The argument as the kernel gets it: arrays as HBM tensors, everything else as it is."""
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        bound = [_bind(builder, item, count, name) for item in items]
        return tuple(bound) if isinstance(value, tuple) else bound
    if not is_array(value):
        return plain(value)
    try:
        dtype = as_dtype(value.dtype)
    except (KeyError, TypeError) as error:
        raise TraceError(
            "NKI-DTYPE",
            f"An argument has dtype {value.dtype}.",
            remedy="Convert it to one of the chip's formats, such as float32 or int32.",
        ) from error
    shape = tuple(int(size) for size in value.shape) or (1,)
    if math.prod(shape) == 0:
        raise TraceError("NKI-SHAPE", f"An argument of shape {shape} is empty.", remedy="Pass at least one element.")
    return builder.allocate(shape, dtype, MemoryRegion.shared_hbm, name, role="input", argument=next(count))


def _name_arguments(function: Callable[..., Any], bound: Sequence[Any]) -> None:
    """Call the positional tensors by their parameters' names, for messages."""
    with contextlib.suppress(TypeError, ValueError):
        for parameter, value in zip(inspect.signature(function).parameters, bound, strict=False):
            if isinstance(value, NkiTensor):
                value.storage.rename(parameter)


def _outputs(returned: Any) -> list[NkiTensor]:
    if returned is None:
        return []
    if isinstance(returned, NkiTensor):
        return [returned]
    if isinstance(returned, (list, tuple)):
        return [tensor for item in cast("Sequence[Any]", returned) for tensor in _outputs(item)]
    raise TraceError(
        "NKI-OUTPUT",
        f"The kernel returns a {type(returned).__name__}.",
        remedy="Return a tensor in nl.shared_hbm, or a tuple of them.",
    )


def _place(error: TraceError, source: str, step: TracebackType | None) -> None:
    """Give the error the innermost line of the kernel's file that was running."""
    while step is not None:
        if step.tb_frame.f_code.co_filename == source:
            error.line = step.tb_lineno
        step = step.tb_next
