"""Gate 4: number, order, shape and dtype of the outputs, every element written, inputs left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nki_anvil.backends.run import ArraySpec, CaseResult
from nki_anvil.lab.comparing import explain, worst
from nki_anvil.lab.evidence import Evidence, Judgement, Observed, Repeat, Turned
from nki_anvil.lab.expected import Expected


def judge(evidence: Evidence) -> Judgement:
    if not evidence.observed or not evidence.poisoned:
        return Judgement(False, "The backend returned no outputs.")
    for observed in evidence.observed:
        if wrong := _form(observed, evidence):
            return Judgement(False, wrong, hint="Return exactly what the reference returns, in its order.")
        if wrong := _changed_inputs(observed.result, evidence):
            return Judgement(False, wrong, hint="Write to the kernel's own tensors only, even for a while.")
    if wrong := _elsewhere(evidence):
        return Judgement(False, wrong, hint="Store into the input, and return the input itself.")
    if judgement := _holds_what_memory_held(evidence):
        return judgement
    for turned in evidence.turned:
        if judgement := _hangs_on_order(turned, evidence):
            return judgement
    return Judgement(True, "Number, shapes and dtypes as the reference's; every element written; inputs unchanged.")


def _holds_what_memory_held(evidence: Evidence) -> Judgement | None:
    for repeat in evidence.poisoned:
        if wrong := _unwritten(repeat, evidence.specification.lnc):
            hint = "Store every element of the output, partial tiles at the edges too."
            return Judgement(
                False,
                " ".join([wrong, *_untold(evidence)]),
                hint=hint + (_BARRIER if evidence.specification.lnc > 1 else ""),
            )
    if any(observed.result.unlike for observed in evidence.observed):
        said = "On some inputs the output holds what memory held before, in places that the kernel leaves unwritten."
        return Judgement(False, said, hint="Write every tile before it is read: gathers skip rows, masks leave some.")
    return None


def _untold(evidence: Evidence) -> list[str]:
    """What the documents leave open of the kernel's lines, where their form shows it."""
    found = [finding for trace in evidence.traces() for finding in trace.findings if finding.code == "TRN2-UNTOLD"]
    return [*dict.fromkeys(f"{one.message.removesuffix('.')} (line {one.line})." for one in found)]


def _form(observed: Observed, evidence: Evidence) -> str:
    given = [ArraySpec(shape=o.shape, dtype=_name(o.dtype)) for o in observed.result.outputs]
    given = _as_traced(given, observed.case.shapes, evidence)
    reshapes, expected = evidence.specification.reshapes, observed.yardstick.outputs
    if len(given) != len(expected):
        return f"The kernel returns {len(given)} outputs, the reference {len(expected)}."
    for position, (spec, wanted) in enumerate(zip(given, expected, strict=True)):
        if wrong := _difference(spec, wanted, reshapes):
            return f"Output {position} {wrong}."
    return ""


def _as_traced(given: list[ArraySpec], shapes: str, evidence: Evidence) -> list[ArraySpec]:
    """Booleans are bytes where they are computed: which bytes are any, the trace knows."""
    traced = next((trace.outputs for trace in evidence.traces() if trace.shapes == shapes), ())
    if len(traced) != len(given):
        return given
    return [
        one.model_copy(update={"dtype": told.dtype}) if (one.dtype, told.dtype) == ("uint8", "bool_") else one
        for one, told in zip(given, traced, strict=True)
    ]


def _difference(given: ArraySpec, wanted: Expected, reshapes: bool) -> str:
    same = np.prod(given.shape, dtype=int) == wanted.r.size if reshapes else given.shape == wanted.r.shape
    if not same:
        return f"has the shape {list(given.shape)}; the reference's has {list(wanted.r.shape)}"
    if given.dtype != wanted.dtype.replace("tfloat32", "float32"):
        return f"is {given.dtype}; the reference's is {wanted.dtype}"
    return ""


def _name(dtype: np.dtype[np.generic]) -> str:
    return dtype.name if dtype.name != "bool" else "bool_"


def _changed_inputs(result: CaseResult, evidence: Evidence) -> str:
    changed = next((name for name in result.mutated if not _is_judged(name, evidence)), None)
    if changed is None:
        return ""
    left = ", which is mutable; the reference leaves it as it is" if changed in _mutable(evidence) else ""
    return f"The kernel wrote to its input {changed}{left}."


def _is_judged(name: str, evidence: Evidence) -> bool:
    """A mutable input whose end is an output: the reference's, or the kernel's own that returns the input itself."""
    if name not in _mutable(evidence):
        return False
    return name in evidence.specification.in_place or all(
        _position(name, trace.shapes, evidence) in trace.returned for trace in evidence.traces()
    )


def _mutable(evidence: Evidence) -> set[str]:
    return {
        spec.name for shapes in evidence.specification.shape_sets.values() for spec in shapes.inputs if spec.mutable
    }


def _position(name: str, shapes: str, evidence: Evidence) -> int:
    return [spec.name for spec in evidence.specification.arrays(shapes)].index(name)


def _elsewhere(evidence: Evidence) -> str:
    """What the reference updates in place is judged where the caller will look for it."""
    for name, output in evidence.specification.in_place.items():
        for trace in evidence.traces():
            if not trace.returned or trace.returned[output] == _position(name, trace.shapes, evidence):
                continue
            return f"Output {output} is not {name} itself, which the reference updates in place."
    return ""


_BARRIER = " Where one core uses what the other stores, let both meet in between: nisa.core_barrier."


def _unwritten(repeat: Repeat, cores: int) -> str:
    """An element that depends on what fresh memory held, or on which core runs first, was never written for certain."""
    or_order = " or with which core runs first" if cores > 1 else ""
    for position, (first, second) in enumerate(zip(repeat.first.outputs, repeat.second.outputs, strict=False)):
        differs = _bits(first) != _bits(second)
        if differs.any():
            count = int(differs.reshape(*first.shape, -1).any(axis=-1).sum())
            place = np.unravel_index(int(np.argmax(differs.reshape(*first.shape, -1).any(axis=-1))), first.shape)
            index = [int(i) for i in place]
            return (
                f"Output {position} is not written everywhere, or rests on what NKI's documents leave open: {count} "
                f"elements change with what memory held{or_order}, first {index}."
            )
    return "" if _same_count([repeat.first, repeat.second]) else "The two runs returned different numbers of outputs."


_ORDER = "Loop with nl.sequential_range, or give each iteration (and each program of a launch) places of its own."
_RUN = {
    "backwards": "from the last to the first",
    "abreast": "several at a time",
    "together": "all at a time",
    "shuffled": "in an order by lot",
}


def _hangs_on_order(turned: Turned, evidence: Evidence) -> Judgement | None:
    """Judged by the values' own limits, for sums in another order differ in their last bits."""
    said, result, specification = f"{_NO_ORDER} {_RUN[turned.order]},", turned.result, evidence.specification
    if result.error is not None:
        failed = (
            f"Where iterations without an order run {_RUN[turned.order]}, executing it fails: {result.error.message}"
        )
        return Judgement(False, failed, code=result.error.code, line=result.error.line, hint=_ORDER)
    other = replace(turned.observed, result=result)
    if wrong := _form(other, evidence):
        return Judgement(False, f"{said} it is of another form: {wrong}", hint=_ORDER)
    found = worst(other, specification)
    if found.share <= 1.0 or worst(turned.observed, specification).share > 1.0:  # that one is for the gate of values
        return None
    shown = explain(other, found)
    where = shown.where
    place = f"output {where.output} at {list(where.index)}"
    said = f"{said} {place} is {where.got:.7g} where {where.expected:.7g} is right, as it is in order."
    return Judgement(False, said, hint=_ORDER, where=where, heat=shown.heat)


_NO_ORDER = (
    "The result depends on the order of nl.affine_range's iterations, or of a launch's programs, and they have none:"
)


def _same_count(results: Sequence[CaseResult]) -> bool:
    return len({len(result.outputs) for result in results}) == 1


def _bits(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.ascontiguousarray(array).view(np.uint8)
