"""How a kernel takes its tensors: the same way by place, as traces give them, and by name, as users may."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class TakenByName(Exception):
    """A kernel could be another one for who gives tensors by name."""

    code = "TakenByName"
    remedy = "Name every parameter, without `*` before it and `**`, in the order of the problem's inputs."


def check(function: Any, inputs: Sequence[str]) -> None:
    """``inputs`` are the problem's names; a kernel may have others. Raises TakenByName."""
    found = [*inspect.signature(function).parameters.values()]
    kinds = {one.kind for one in found}
    if inspect.Parameter.VAR_KEYWORD in kinds or kinds >= {
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.KEYWORD_ONLY,
    }:
        raise TakenByName("The kernel takes tensors by any name.")
    for place, one in enumerate(found):
        alone = one.kind is inspect.Parameter.KEYWORD_ONLY
        if one.name in inputs and (alone or inputs.index(one.name) != place):
            raise TakenByName(
                f"`{one.name}` is input {inputs.index(one.name)} of the problem, and the kernel takes it "
                + ("by name alone." if alone else f"as parameter {place}.")
            )


def are_known(function: Any, names: Collection[str], taken: Mapping[str, Any]) -> bool:
    """Whether a kernel has a parameter of each of these names, none of which is ``taken``."""
    plain = {name for name, one in inspect.signature(function).parameters.items() if one.kind in _BY_NAME}
    return plain.issuperset(names) and taken.keys().isdisjoint(names)
