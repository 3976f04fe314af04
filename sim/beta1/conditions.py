"""What ``mask=`` takes: comparisons of index expressions, joined by ``&``, as terms that must not be negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.branches import chosen_by
from nki_anvil.sim.beta1.paths import path
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.layout import Shape

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.index import Index


class Condition:
    """What ``mask=`` takes: places where all of some expressions are not negative, else an array of booleans."""

    def __init__(
        self,
        terms: Sequence[Index],
        holds: NDArray[np.bool_] | None = None,
        *,
        affine: bool = True,
        conjunction: bool = True,
    ) -> None:
        self.terms = tuple(terms)
        self.affine = affine
        """Whether it compares sums of counters and grids alone, no remainders or quotients."""
        self.conjunction = conjunction
        """Whether it is comparisons joined by ``&`` alone, as masks are: no ``|``, no ``~``, no ``!=``."""
        self.holds = holds
        """Holds the condition where it is no conjunction of affine ones; then there are no terms."""

    @classmethod
    def of_array(cls, holds: NDArray[Any], *, affine: bool = True, conjunction: bool = True) -> Condition:
        """A condition given place by place."""
        return cls((), holds.astype(np.bool_), affine=affine, conjunction=conjunction)

    def __and__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else Condition.of_array(np.zeros((1,) * 2, np.bool_))
        joined = self.conjunction and other.conjunction
        if self.holds is None and other.holds is None:
            return Condition((*self.terms, *other.terms), conjunction=joined)
        affine, holds = self.affine and other.affine, np.logical_and(self.array(), other.array())
        return Condition.of_array(holds, affine=affine, conjunction=joined)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return True if other else self
        affine, holds = self.affine and other.affine, np.logical_or(self.array(), other.array())
        return Condition.of_array(holds, affine=affine, conjunction=False)

    __ror__ = __or__

    def __invert__(self) -> Condition:
        if self.holds is None and len(self.terms) == 1:
            return Condition([-self.terms[0] - 1], conjunction=False)
        return Condition.of_array(~self.array(), affine=self.affine, conjunction=False)

    def array(self) -> NDArray[np.bool_]:
        """The condition at each place now."""
        if self.holds is not None:
            return self.holds
        arrays = [term.numbers() >= 0 for term in self.terms]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*arrays)))

    def __bool__(self) -> bool:
        """Of loop counters alone: what holds now, and must hold in every iteration that is repeated from this one."""
        if self.holds is not None:
            if self.holds.size != 1:
                raise _ambiguous(self.holds.shape)
            return bool(self.holds)
        for term in self.terms:
            if not term.is_number():
                raise _ambiguous(term.shape)
        return all(_decided(term) for term in self.terms)


def _ambiguous(shape: Shape) -> TraceError:
    return TraceError(
        "NKI-CONTROL",
        f"A condition on an index grid of shape {shape} decides a branch.",
        remedy="Pass it as mask= to the operation or select with nl.where; join two with &, as `and` decides.",
    )


def _decided(term: Index) -> bool:
    """Whether a term is not negative, noted for the loops it depends on."""
    holds = term.value >= 0
    if term.moves:
        chosen_by(term.moves)
        path().assume(term if holds else -term - 1)
    return holds
