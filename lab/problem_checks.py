"""Whether a problem can be judged at all: a reference that is constant or overflows would let every kernel pass, and
one that draws lots would let none."""

from __future__ import annotations

from dataclasses import dataclass

from nki_anvil.backends.errors import ProblemInvalid


@dataclass(frozen=True, slots=True)
class Structure:
    """What the reference's process found in float64 on two own draws."""

    finite: bool
    influence: dict[str, bool]
    """By array argument: whether another draw of it changes an output."""
    exact: dict[str, str | int] | None = None
    """For a product of two arrays: their names and contracted axes."""
    repeats: bool = True
    """Run again on the same inputs, it gives the same."""


def check(structure: Structure, name: str) -> tuple[str, ...]:
    """Warnings for a problem that can be judged; raises ProblemInvalid for one that cannot."""
    if not structure.finite:
        message = f"The reference of {name} overflows or is undefined on its own inputs."
        raise ProblemInvalid(message, "Change get_inputs or forward so that every output is finite.")
    if not structure.repeats:
        message = f"The reference of {name} gives something else each time that it is run on the same inputs."
        raise ProblemInvalid(message, "Draw in get_inputs what it draws in forward, and pass it on: a mask, or noise.")
    if structure.influence and not any(structure.influence.values()):
        message = f"The output of {name} is the same for every input: a kernel that ignores its inputs would pass."
        raise ProblemInvalid(message, "Change get_inputs or forward so that the output depends on them.")
    silent = [argument for argument, counts in structure.influence.items() if not counts]
    return tuple(f"The input {argument} has no visible influence on the output." for argument in silent)
