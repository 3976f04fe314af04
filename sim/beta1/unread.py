"""Arguments that nothing here reads: whoever passes one means something that would not be simulated."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from nki_anvil.sim.beta1.enums import meant
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.language.creation import format_of

PLACING: Final = ("name", "engine", "dge_mode", "directives", "lazy_initialization", "precise_schedule")
"""Which say where and how something is done, not what."""
UNREAD: Final[Mapping[str, tuple[str, ...]]] = {
    "load_transpose2d": ("mask",),
    "gather_flattened": ("mask",),
    "broadcast_to": ("dtype", "mask"),
    "softmax": ("compute_dtype",),
    "rms_norm": ("compute_dtype",),
    "iota": ("mask",),
    "local_gather": ("mask",),
    "dma_transpose": ("mask",),
    "random_seed": ("mask",),
    "tensor_copy_predicated": ("dtype",),
    "tensor_copy_dynamic_dst": ("dtype",),
    "nc_stream_shuffle": ("dtype",),
}
"""By function, what it takes and does not read."""


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses arguments that it would not read.

    It raises TraceError for one that Beta 1 does not know, and NotSimulated for one that it does.
    """
    known, unread = inspect.signature(function).parameters, UNREAD.get(function.__name__, ())

    @functools.wraps(function)
    def read(*given: Any, **named: Any) -> Any:
        refuse_unknown(function.__name__, (name for name in named if name not in known))
        for name in unread:
            if named.get(name) is not None and named[name] is not True:
                raise NotSimulated(
                    f"{function.__name__}(..., {name}=...) is not simulated.",
                    remedy=f"Leave {name} out, and do that in a step of its own.",
                )
        return function(*map(meant, given), **{name: _meant(name, value) for name, value in named.items()})

    return read


def _meant(name: str, value: Any) -> Any:
    """Formats by the language's own names, whoever named them: NumPy or the language."""
    return format_of(value) if name == "dtype" and value is not None else meant(value)


def refuse_unknown(function: object, names: Iterable[str]) -> None:
    """Raises TraceError for the first argument that says what to compute and that the function does not know."""
    name = next((name for name in names if name not in PLACING), None)
    if name is not None:
        message = f"{function} knows no argument {name}."
        raise TraceError("NKI-ARGUMENT", message, remedy="See the function's signature in the NKI reference.")
