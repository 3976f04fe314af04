"""Which cases are run more than once: on other unwritten memory, just again, and with loops in other orders.

Two runs of a shape set's first case differ in all that the documents leave open on a chip, so that one choice alone is
met for certain. Two choices that cancel are met by lot: in further runs of that case, and in every other case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.run import CaseResult, KernelError, Run
from nki_anvil.lab.evidence import Observed, Repeat, Turned
from nki_anvil.sim.program import SCHEMA, SHUFFLED

POISONED: Final = (".poisoned", ".poisoned1", ".poisoned2")
"""Ends of the keys of a first case's runs with the other poison; but for the first of them each draws its lots."""
AGAIN: Final = ".again"
ORDERS: Final = (*SCHEMA["orders"], SHUFFLED)
"""Keys of cases in another order end with its name."""
_BETA1: Final = "neuronxcc"
"""What a text in the dialect whose loops may have no order names."""


def by_lot(cases: Sequence[Case]) -> list[Case]:
    """The cases, all but each shape set's first with a lot of their own."""
    firsts = _firsts(cases)
    return [case if case in firsts else case.model_copy(update={"lot": 1 + case.seed}) for case in cases]


def repeated(cases: Sequence[Case], kernel: str, simulated: bool) -> list[Case]:
    """What is run besides the cases; on a simulator by lot as well, and in other orders where a text may have some.

    In these the firsts, and those in which several indices may name one place.
    """
    firsts = _firsts(cases)
    ends = POISONED if simulated else POISONED[:1]
    poisoned = [
        _twin(case, end, poison=1, lot=number and number + case.seed)
        for case in firsts
        for number, end in enumerate(ends)
    ]
    again = [_twin(case, AGAIN, again=True) for case in firsts]
    unordered = simulated and _BETA1 in kernel
    chosen = [case for case in cases if case in firsts or case.family.partition("/")[0] == "whole"] if unordered else []
    return [*poisoned, *again, *(_twin(case, f".{order}", order=order) for order in ORDERS for case in chosen)]


def poisoned(job: Job, results: Mapping[str, CaseResult]) -> Iterator[Repeat]:
    for key in _first_keys(job):
        for end in POISONED:
            if any(case.key == key + end for case in job.cases):
                yield Repeat(result_of(results, key), result_of(results, key + end))


def again(job: Job, results: Mapping[str, CaseResult]) -> Iterator[Repeat]:
    for key in _first_keys(job):
        yield Repeat(result_of(results, key), result_of(results, key + AGAIN))


def turned(job: Job, run: Run, observed: Sequence[Observed]) -> Iterator[Turned]:
    """The cases that ran in other orders, with what they did in their own; most programs have none."""
    results, known = {result.key: result for result in run.cases}, {one.case.key: one for one in observed}
    unordered = {trace.shapes for trace in run.traces if trace.unordered}
    for case in job.cases:
        first = known.get(case.key.removesuffix(f".{case.order}"))
        if case.order and case.shapes in unordered and first is not None:
            yield Turned(first, case.order, result_of(results, case.key))


def result_of(results: Mapping[str, CaseResult], key: str) -> CaseResult:
    missing = KernelError(code="Missing", message="No result came back.")
    return results.get(key) or CaseResult(key=key, inputs_digest="", error=missing)


def _firsts(cases: Sequence[Case]) -> list[Case]:
    """Of each shape set one."""
    return list({case.shapes: case for case in reversed(cases)}.values())[::-1]


def _first_keys(job: Job) -> list[str]:
    return [case.key.removesuffix(AGAIN) for case in job.cases if case.key.endswith(AGAIN)]


def _twin(case: Case, end: str, **changes: Any) -> Case:
    return case.model_copy(update={"key": case.key + end, "exact": False, **changes})
