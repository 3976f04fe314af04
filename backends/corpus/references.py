"""What a kernel is compared with: a function that its name leads to, or what a ``corpus.toml`` names."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.corpus.source import Source

SUFFIXES: Final = ("_ref", "_reference", "_golden", "_numpy", "_np", "_torch_ref", "_torch", "_cpu")
PREFIXES: Final = ("ref_", "reference_", "golden_", "numpy_", "np_", "torch_", "cpu_")
DECORATION: Final = ("nki_", "_kernel", "_nki")
"""Parts of a kernel's name that its reference does not repeat."""


@dataclass(frozen=True)
class Reference:
    """A function of the kernel's arguments by name; returns whatever holds the outputs."""

    name: str
    compute: Callable[[dict[str, Any]], Any]

    def __call__(self, given: Mapping[str, Any]) -> Any:
        return self.compute({name: _widened(copy.deepcopy(value)) for name, value in given.items()})


def named_after(source: Source, entry: str) -> Reference | None:
    """The reference that stands in the kernel's file under a name derived from the kernel's."""
    for name in names(entry):
        function = source.namespace.get(name)
        if inspect.isfunction(function):
            return Reference(name, lambda given, function=function: _by_position_or_name(function, given))
    return None


def names(entry: str) -> list[str]:
    """Names that a kernel's reference goes by, likeliest first."""
    stems = [entry.strip("_")]
    for part in DECORATION:
        stems += [stem.replace(part, "").strip("_") for stem in stems if part in stem]
    found = [stem + suffix for stem in stems for suffix in SUFFIXES]
    found += [prefix + stem for stem in stems for prefix in PREFIXES]
    return [name for name in dict.fromkeys([*found, "reference"]) if name != entry]


def stated(source: Source, text: str) -> Reference:
    """A callable by its name, here or as ``module:name``, or an expression over the kernel's arguments.

    Raises LookupError for a name that is not there.
    """
    if _is_name(source, text):
        function = source.find(text)
        return Reference(text, lambda given: _by_position_or_name(function, given))
    return Reference(text, lambda given: source.value(text, **given))


def _is_name(source: Source, text: str) -> bool:
    """Whether a text names something, of another module or of the file; a kernel's own parameter is an expression."""
    plain = all(part.isidentifier() for part in text.replace(":", ".").split("."))
    return plain and (":" in text or text.partition(".")[0] in source.namespace)


def _by_position_or_name(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Calls with those arguments that the function takes; by position where its names are others."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function(*given.values())
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return function(**given)
    required = [
        name for name, one in parameters.items() if one.default is one.empty and one.kind is not one.VAR_POSITIONAL
    ]
    if set(required) <= set(given):
        return function(**{name: value for name, value in given.items() if name in parameters})
    return function(*list(given.values())[: len(parameters)])


def _widened(value: Any) -> Any:
    """Formats that NumPy computes in poorly become float32, which holds every value of theirs."""
    if not isinstance(value, np.ndarray):
        return value
    array = cast("NDArray[Any]", value)
    return array.astype(np.float32) if array.itemsize < 4 and "float" in array.dtype.name else array
