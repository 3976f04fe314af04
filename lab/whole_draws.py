"""Floats of which nothing is declared and that every draw has whole: no others are judged, and opening says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nki_anvil.backends.job import ShapeSet
from nki_anvil.lab.problem_file import InputEntry


def told(arguments: ShapeSet, entries: Mapping[str, InputEntry]) -> Iterator[str]:
    """A sentence for each: a kernel that takes it through integers loses nothing in any case."""
    for spec in arguments.inputs:
        if spec.name not in entries and spec.domain == "integer" and "float" in spec.dtype:
            yield (
                f"In every draw {spec.name} is whole, {spec.low:g} to {spec.high:g}: no other numbers are judged; "
                f"declare [inputs.{spec.name}] with its domain otherwise."
            )
