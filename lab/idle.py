"""Choices of a kernel on which nothing hangs, as far as all cases tell: what they do elsewhere, no verdict says.

A maximum that always takes the same operand, a comparison that always says the same: without it, every case comes out
right as well. So either it can be left out, or inputs that need it are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from typing import Final, TypeAlias

from nki_anvil.backends.run import CaseResult, Choice
from nki_anvil.backends.worker.leaning import LEANING, WAYS
from nki_anvil.lab.comparing import worst
from nki_anvil.lab.evidence import Evidence, Observed
from nki_anvil.sim.ways import WEAKER

Which: TypeAlias = tuple[int, str, int, float, str]

_LIMITS: Final = {"maximum": "larger", "minimum": "smaller", "relu": "larger"}
_TAIL: Final = "Leave it out, or let get_inputs draw rows that need it."
_WEAKER_TAIL: Final = "Take that of the reference, or let get_inputs draw rows that need it."


def choices(evidence: Evidence) -> Iterator[str]:
    """One for each line's choice that no case needs, at no shape; of a needed one where in some places it is not."""
    results = {result.key: result for result in evidence.run.cases if LEANING in result.key}
    observed = {one.case.key: one for one in evidence.observed}

    def needed(choice: Choice) -> set[int]:
        found = set(choice.needed)
        for key in choice.keys:
            result, one = results.get(key), observed.get(key.partition(LEANING)[0])
            if result is not None and one is not None:
                asked = set(choice.outputs) - found
                found |= {output for output in asked if _is_wrong(result, output, one, evidence)}
        return found

    every = sorted((choice for trace in evidence.traces() for choice in trace.choices if choice.met), key=_which)
    told: dict[tuple[int | None, str, int], str] = {}
    for _, group in groupby(every, _which):
        same = list(group)
        if same[0].way == WEAKER and abs(same[0].against or 0.0) in evidence.specification.numbers:
            continue
        line = (same[0].line, same[0].op, same[0].way)
        known = {(same[0].line, same[0].op, way) for way in WAYS} if same[0].way == WEAKER else {line}
        if told.keys().isdisjoint(known) and (said := _said(same, needed)):
            told[line] = said
    yield from told.values()


def _which(choice: Choice) -> Which:
    against = -inf if choice.against is None else choice.against
    return choice.line or 0, choice.op, choice.way, against, choice.part


def _is_wrong(result: CaseResult, output: int, observed: Observed, evidence: Evidence) -> bool:
    """Whether a case would not have passed with that output of a choice that went one way throughout."""
    outputs = list(observed.result.outputs)
    outputs[output] = result.outputs[output]
    leaning = observed.result.model_copy(update={"outputs": tuple(outputs), "exact": ()})
    return worst(replace(observed, result=leaning), evidence.specification).share > 1.0


def _said(same: Sequence[Choice], needed: Callable[[Choice], set[int]]) -> str:
    """Of one choice at all shapes; nothing where some case needs it for every output, or nobody could try."""
    what, where = _otherwise(same[0]), _where(same[0])
    if not any(choice.taken for choice in same) and same[0].way != WEAKER:
        return f"In no case {what} in {where}: what hangs on that is not judged. {_TAIL}"
    if not any(choice.tried for choice in same):
        return ""
    reached = {output for choice in same for output in choice.outputs}
    lacking = sorted(reached - {output for choice in same for output in needed(choice)})
    if not lacking:
        return ""
    if same[0].way == WEAKER:
        number = f"{same[0].against:.7g}"
        return (
            f"That the limit of {same[0].op} in {where} is {number} and no weaker one shows in no case. {_WEAKER_TAIL}"
        )
    if len(lacking) == len(reached):
        return f"That {what} in {where} shows in no case: all are right without it. {_TAIL}"
    named = f"output{'s' if len(lacking) > 1 else ''} {', '.join(map(str, lacking))}"
    return f"That {what} in {where} shows in no case in {named}: what hangs on that is not judged. {_TAIL}"


def _otherwise(choice: Choice) -> str:
    """What it would be, did it not go its way."""
    against = "" if choice.against is None else f"{choice.against:.7g}"
    if choice.op in _LIMITS:
        second = "what no input reaches" if choice.standing else against or "the second operand"
        second = "zero" if choice.op == "relu" else second
        return f"{'the first operand' if choice.way == 2 else second} is the {_LIMITS[choice.op]}"
    if choice.op == "abs":
        return f"abs is given a number {'above' if choice.way == 2 else 'below'} zero"
    return f"{choice.op}{against and ' with '}{against} is {'true' if choice.way == 2 else 'false'}"


def _where(choice: Choice) -> str:
    said = "; ".join(filter(None, (choice.text, choice.part)))
    return f"line {choice.line}" + (f" ({said})" if said else "")
