"""Whether a problem can be judged at all: a reference that is constant or overflows would let every kernel pass, and
one that draws lots, or leaves open which of equals it takes, would let none."""

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
    ordered: bool = True
    """So it does where what a sort leaves open, the order of equals, comes the other way round."""
    leaves_open: bool = False
    """There is such a sort."""


def check(structure: Structure, name: str, *, declared: bool = False) -> tuple[str, ...]:
    """Warnings for a problem that can be judged; raises ProblemInvalid for one that cannot.

    Its draws are as problem.toml has them ``declared``, or by get_inputs.
    """
    if not structure.finite:
        message = f"The reference of {name} overflows or is undefined on its own inputs."
        raise ProblemInvalid(message, "Change get_inputs or forward so that every output is finite.")
    if not structure.repeats:
        message = f"The reference of {name} gives something else each time that it is run on the same inputs."
        raise ProblemInvalid(message, "Draw in get_inputs what it draws in forward, and pass it on: a mask, or noise.")
    if not structure.ordered:
        message = f"The reference of {name} hangs on an order that its sort leaves open: its own inputs hold equals."
        remedy = 'Write np.argsort(..., kind="stable"), also for argpartition; a kernel has to keep that order then.'
        raise ProblemInvalid(message, remedy)
    if structure.influence and not any(structure.influence.values()):
        message = f"The output of {name} is the same for every input: a kernel that ignores its inputs would pass."
        remedy = "Change get_inputs or forward so that the output depends on them."
        if declared:
            remedy += (
                " Inputs were drawn by the domains, bounds, mean and sigma of problem.toml, not by get_inputs: where"
                " its draws tell inputs apart, declare closer ones, or leave the table of one array out."
            )
        raise ProblemInvalid(message, remedy)
    silent = [argument for argument, counts in structure.influence.items() if not counts]
    warnings = [f"The input {argument} has no visible influence on the output." for argument in silent]
    if structure.leaves_open:
        warnings.append(
            "The reference sorts without an order of equals, so rows in which equals decide are not judged: "
            'np.argsort(..., kind="stable") has them judged.'
        )
    return tuple(warnings)
