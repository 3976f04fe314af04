"""One case compared with its yardstick: the limit that is used most, where, and what that looks like."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nki_anvil.lab import exactness, limits
from nki_anvil.lab.diagnosis import approximation, diagnose, uncounted
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.expected import Expected
from nki_anvil.lab.heat import Heat, heat
from nki_anvil.lab.rows import F64, relative_l2
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.use import Use
from nki_anvil.lab.verdict import Where


@dataclass(frozen=True, slots=True)
class Deviation:
    """The worst of one case."""

    share: float
    """Of the limit that is used most; above 1 is wrong."""
    error: float
    """Largest relative L2 error of a whole output; 0 where the case is not an own draw."""
    own: bool
    use: Use
    position: int
    """Of the output."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a deviation looks like, in words and numbers."""

    sentence: str
    hint: str
    where: Where
    heat: Heat


def worst(observed: Observed, specification: Specification) -> Deviation:
    """Compare every output of a case, once; shapes are right by now. Cheap: only what is shown is explained."""
    found = observed.compared.get(specification.tolerance)
    if found is None:
        found = observed.compared[specification.tolerance] = _worst(observed, specification)
    return found


def _worst(observed: Observed, specification: Specification) -> Deviation:
    own = observed.own and not observed.case.probes
    uses: list[tuple[Use, int]] = []
    error = 0.0
    for position, (expected, output) in enumerate(
        zip(observed.yardstick.outputs, observed.result.outputs, strict=True)
    ):
        y = np.asarray(output).reshape(expected.r.shape)
        use = limits.compare(expected, y, specification.tolerance, own)[0]
        if observed.result.exact and use.share <= 1.0:  # what is off in both is told by what the chip makes of it
            exact = observed.result.exact[position].reshape(expected.r.shape)
            others = [other[position].reshape(expected.r.shape) for other in observed.others]
            use = max(use, exactness.compare(expected, exact, others), key=lambda one: one.share)
        uses.append((use, position))
        if own:
            known = np.isfinite(expected.r)
            error = max(error, relative_l2(y[known].astype(np.float64), expected.r[known]))
    use, position = max(uses, key=lambda pair: pair[0].share)
    return Deviation(use.share, error, own, use, position)


def explain(observed: Observed, deviation: Deviation) -> Explanation:
    """Where a case is wrong and what that looks like."""
    use, position = deviation.use, deviation.position
    expected = observed.yardstick.outputs[position]
    if not np.isfinite(expected.r[use.index]).all():
        for lost in expected.lost:
            if lost.known[use.index].all():
                expected = replace(expected, r=lost.r, spread=lost.spread)
    sums = next((one for one in expected.conserved if use.limit == one.limit), None)
    exactly = use.limit == exactness.LIMIT
    outputs = observed.result.exact if exactly else observed.result.outputs
    y = np.asarray(outputs[position]).reshape(expected.r.shape).astype(np.float64)
    found = uncounted() if sums else (approximation if exactly else diagnose)(expected, y, use.index)
    family = _family(observed)
    got, right = sums.sum_at(y, use.index) if sums else _numbers_at(expected, y, use.index)
    where = Where(
        output=position,
        index=use.index,
        row=use.index[:-1],
        family=family,
        shapes=observed.case.shapes,
        got=got,
        expected=right,
        pattern=found.pattern,
        excerpt=found.excerpt,
    )
    known = np.isfinite(use.share)
    limit = f"{use.limit}: {use.measured:.2g} where {use.allowed:.2g} is allowed" if known else f"must be {use.limit}"
    sentence = (
        f"Worst: output {position} at {list(use.index)}, input family {family}, shape set {observed.case.shapes}: "
        f"got {where.got:.7g}, expected {where.expected:.7g} ({limit}). {found.sentence}"
    )
    return Explanation(sentence.strip(), found.hint, where, heat(expected, y, use.index, position))


def _numbers_at(expected: Expected, y: F64, place: tuple[int, ...]) -> tuple[float, float]:
    return (float(y[place]), float(expected.r[place])) if place else (float("nan"), float("nan"))


def _family(observed: Observed) -> str:
    """As it may be shown: what was done to which inputs, no seed and no scale."""
    family, _, variant = observed.case.family.partition("/")
    if observed.case.probes:
        return f"own, one element of {observed.case.probes[0].input} disturbed"
    columns = " of columns" if variant.startswith("turned") else ""
    axis = f" along an axis of {variant}" if variant else ""
    along = {"cancelling": axis, "bands": columns, "whole": columns}.get(family, "")
    return f"{family}{along}" + (f" ({observed.case.only})" if observed.case.only else "")
