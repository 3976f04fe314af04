"""One case of a problem before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from nki_anvil.backends.job import InputSpec
from nki_anvil.backends.worker.inputs import FEW


@dataclass(frozen=True, slots=True)
class Plan:
    """One case to be made: what it transforms, and the probe it carries, if it is one."""

    family: str = "own"
    only: str | None = None
    probe: dict[str, Any] | None = None


def drawn_shape(spec: InputSpec) -> tuple[int, ...]:
    """In which an input is drawn; the kernel's may be another."""
    return spec.drawn or spec.shape or ()


def is_many(spec: InputSpec) -> bool:
    """Whether an input of integers is more than a length or a position."""
    return prod(drawn_shape(spec)) > FEW
