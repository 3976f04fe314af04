"""A kernel has no sets, for a set's order is another in every process.

Python orders a set by its members' hashes, which of texts, None and plain objects are drawn anew for each process, and
by how it came to be. Two traces that agree prove nothing about a third. How a text's forms make sets, is refused where
they are read (``lab.forms``); here is refused what comes of anything else, such as a dictionary's keys.
"""

from __future__ import annotations

from typing import Any


class SetHeld(Exception):
    """A call, an operator or an attribute gives a set, or a text goes through one."""

    code = "TraceUnstable"
    remedy = "Write a tuple or a dictionary; `x in {1, 2}` asks for no order."

    def __init__(self) -> None:
        super().__init__("The kernel holds a set, and its order is not the same everywhere.")


def through(value: Any) -> Any:
    """The value, which is no set. Raises SetHeld."""
    if isinstance(value, (set, frozenset)):
        raise SetHeld
    return value
