"""What a kernel's author meant, where Python only says what failed: the nearest name, the form of what was called."""

from __future__ import annotations

import builtins
import difflib
import inspect
import re
from collections.abc import Iterable
from enum import Enum
from types import FrameType, ModuleType
from typing import Any, Final

_CALLED: Final = re.compile(r"(?P<name>\w+)\(\) ")
_KEYWORD: Final = re.compile(r"unexpected keyword argument '(?P<name>\w+)'")
_TREES: Final = ("nki", "neuronxcc")
_IMPORTS: Final = {
    "nki": "import nki",
    "nl": "import nki.language as nl",
    "nisa": "import nki.isa as nisa",
    "np": "import numpy as np",
    "math": "import math",
}
_LISTED: Final = 12


def name(error: NameError, frame: FrameType | None) -> str:
    """What to write instead of a name that is not there."""
    wanted = str(error.name)
    if isinstance(error, UnboundLocalError):
        return "Assign it before this line on every path: a branch that was not taken leaves it without a value."
    if wanted in _IMPORTS:
        return f"Import it at the top of the file: {_IMPORTS[wanted]}."
    local, outside = (list(frame.f_locals), list(frame.f_globals)) if frame else ([], [])
    return nearest(wanted, [*local, *outside, *dir(builtins)]) or f"The names here are {_some(local)}."


def attribute(error: AttributeError) -> str:
    """What to write instead of an attribute that an object lacks; empty where nothing is known of it."""
    if error.name is None or error.obj is None:
        return ""
    known = _public(dir(error.obj))
    return nearest(error.name, known) or (f"It has {', '.join(known)}." if known else "")


def call(text: str, frame: FrameType | None) -> str:
    """The form of the function that a TypeError's text is about, as ``f(dst, data, scale=1.0)``; empty if not found."""
    found = _CALLED.search(text)
    function = _function(found["name"], frame) if found and frame else None
    if found is None or function is None:
        return ""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ""
    keyword = _KEYWORD.search(text)
    guess = nearest(keyword["name"], list(parameters)) if keyword else ""
    return f"{guess} It is {found['name']}({', '.join(map(_said, parameters.values()))}).".lstrip()


def nearest(wanted: str, known: Iterable[str]) -> str:
    """A question that names the nearest of the known names, without those that are nobody's; empty if none is near."""
    near = difflib.get_close_matches(wanted, _public(known), n=1)
    return f"Did you mean {near[0]}?" if near else ""


def _function(wanted: str, frame: FrameType) -> Any:
    """What a frame calls so: a name of its own, or of a module of NKI that it sees."""
    seen = {**frame.f_globals, **frame.f_locals}
    modules = [one for one in seen.values() if isinstance(one, ModuleType) and one.__name__.startswith(_TREES)]
    return next((vars(place)[wanted] for place in modules if wanted in vars(place)), None) or seen.get(wanted)


def _said(parameter: inspect.Parameter) -> str:
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return star + parameter.name
    default = parameter.default
    shown = f"{type(default).__name__}.{default.name}" if isinstance(default, Enum) else repr(default)
    return f"{parameter.name}={shown}"


def _public(names: Iterable[str]) -> list[str]:
    return [one for one in dict.fromkeys(names) if not one.startswith("_")]


def _some(names: Iterable[str]) -> str:
    listed = _public(names)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return (", ".join(listed[:_LISTED]) or "none") + more
