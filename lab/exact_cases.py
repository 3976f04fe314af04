"""Which cases are run once more with every float in float64: all where that is cheap, at large shapes a few.

And which of these once more, with other constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final

from nki_anvil.backends.job import Case
from nki_anvil.backends.run import Origin, Run
from nki_anvil.lab.cases import Pooled
from nki_anvil.lab.comparing import worst
from nki_anvil.lab.evidence import Evidence, Judgement, Observed
from nki_anvil.lab.exactness import LIMIT
from nki_anvil.lab.specification import Specification

CHEAP: Final = 1 << 20
"""Elements of inputs up to which every case of a shape set is."""
DEAR: Final = ("own", "mixed", "medley")
"""Families of a larger one that are."""


def marked(specification: Specification, cases: Sequence[Case], origin: Origin, full: bool = True) -> list[Case]:
    """The cases, those marked that are; none in a quick look, or where a device runs them, for it has no float64."""
    if origin != "modelled" or not full:
        return list(cases)
    elements = {
        name: sum(prod(spec.shape) for spec in specification.arrays(name) if spec.shape is not None)
        for name in {case.shapes for case in cases}
    }
    return [case.model_copy(update={"exact": _is_cheap(case, elements[case.shapes])}) for case in cases]


def doubtful(last: Judgement, evidence: Evidence) -> list[Pooled]:
    """The cases in which a kernel is off in float64 alone: whoever wrote its constants may have rounded them."""
    if last.passed is not False or last.where is None or last.where.pattern != "approximation":
        return []
    found = [one for one in evidence.observed if one.result.exact and _only_exactly(one, evidence.specification)]
    return [Pooled(case=one.case, inputs_digest=one.result.inputs_digest) for one in found]


def still_doubtful(evidence: Evidence, cases: Sequence[Pooled]) -> list[Pooled]:
    """Those of the cases that are off in float64 alone, whatever the constants were so far."""
    observed = {one.case.key: one for one in evidence.observed}
    return [one for one in cases if _only_exactly(observed[one.case.key], evidence.specification)]


def with_other_constants(evidence: Evidence, run: Run) -> Evidence:
    """The same, with what came of those cases where every constant is off by a rounding."""
    others = {result.key: result.exact for result in run.cases if result.exact}
    observed = [
        replace(one, others=(*one.others, others[one.case.key])) if one.case.key in others else one
        for one in evidence.observed
    ]
    return replace(evidence, observed=tuple(observed))


def _only_exactly(observed: Observed, specification: Specification) -> bool:
    found = worst(observed, specification)
    return found.share > 1.0 and found.use.limit == LIMIT


def _is_cheap(case: Case, elements: int) -> bool:
    return elements <= CHEAP or case.family in DEAR
