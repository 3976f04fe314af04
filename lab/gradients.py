"""Gradients of what a reference returns, by all floats that it is given: its text with autograd in NumPy's place.

Of one that stores into arrays, or asks for what autograd does not know, there are none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

Array = np.ndarray[Any, Any]
Forward = Callable[..., Any]


class NoGradient(Exception):
    """A reference's gradient cannot be found in this way."""


def differentiable(names: dict[str, Any]) -> dict[str, Any]:
    """A module's names, of which those that NumPy goes by mean what a gradient goes through."""
    known = _autograd("autograd.numpy")
    names.update({name: known for name, item in names.items() if item is np})
    return names


def logarithm(item: Any) -> Any:
    return _autograd("autograd.numpy").log(item)


def gradient(
    forward: Forward, inputs: Mapping[str, Any], number: Callable[[Sequence[Any]], Any], floats: Mapping[str, Array]
) -> dict[str, Array]:
    """Of a number that is made of the outputs, by each of the floats. Raises NoGradient."""

    def made(given: dict[str, Any]) -> Any:
        returned = forward(*{**inputs, **given}.values())
        return number([*returned] if isinstance(returned, (tuple, list)) else [returned])

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: dict[str, Array] = _autograd("autograd").grad(made)(dict(floats))
    except Exception as error:  # whatever its author's code does with what it was not written for
        raise NoGradient(str(error)) from error
    return found


def _autograd(module: str) -> Any:
    """Imported where it is asked for, and no sooner: a reference's process starts fast."""
    return cast("Any", import_module(module))
