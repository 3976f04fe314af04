"""Arrays of which nothing is declared and that every draw has within bounds: opening says what is judged by no case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nki_anvil.backends.job import InputSpec, ShapeSet
from nki_anvil.lab.problem_file import InputEntry


def told(arguments: ShapeSet, entries: Mapping[str, InputEntry]) -> Iterator[str]:
    """A sentence for each of floats that are whole, and of arrays of one number or with none below zero."""
    for spec in arguments.inputs:
        if spec.shape is not None and spec.name not in entries and (drawn := _bounds(spec)):
            yield (
                f"In every draw {spec.name} is {drawn}: no other numbers are judged; "
                f"declare [inputs.{spec.name}] with its domain otherwise."
            )


def _bounds(spec: InputSpec) -> str:
    """In words; empty where it may be anything, or an integer as its dtype says."""
    match spec.domain:
        case "integer" if "float" in spec.dtype:
            return f"whole, {spec.low:g} to {spec.high:g}"
        case "constant":
            return f"{spec.value:g}"
        case "positive" | "nonnegative":
            return "above zero" if spec.domain == "positive" else "not below zero"
        case _:
            return ""
