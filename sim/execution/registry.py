"""The table of definitions: each instruction's name and the function that turns a site into steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from nki_anvil.sim.execution.site import Site
from nki_anvil.sim.instructions import TABLE

Definition: TypeAlias = Callable[[Site], None]

DEFINITIONS: Final[dict[str, Definition]] = {}


def defines(name: str) -> Callable[[Definition], Definition]:
    """Register a function as the definition of one instruction."""
    assert name in TABLE, name

    def register(function: Definition) -> Definition:
        DEFINITIONS[name] = function
        return function

    return register
