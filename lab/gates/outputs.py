"""Gate 4: number, order, shape and dtype of the outputs, every element written, inputs left alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nki_anvil.backends.run import ArraySpec, CaseResult
from nki_anvil.lab.evidence import Evidence, Judgement, Observed, Repeat
from nki_anvil.lab.limits import Expected


def judge(evidence: Evidence) -> Judgement:
    if not evidence.observed or not evidence.poisoned:
        return Judgement(False, "The backend returned no outputs.")
    for observed in evidence.observed:
        if wrong := _form(observed, evidence.specification.transforms):
            return Judgement(False, wrong, hint="Return exactly what the reference returns, in its order.")
        if wrong := _changed_inputs(observed.result, evidence):
            return Judgement(False, wrong, hint="Write to the kernel's own tensors only, even for a while.")
    for repeat in evidence.poisoned:
        if wrong := _unwritten(repeat, evidence.specification.lnc):
            hint = "Store every element of the output, partial tiles at the edges too."
            return Judgement(False, wrong, hint=hint + (_BARRIER if evidence.specification.lnc > 1 else ""))
    return Judgement(True, "Number, shapes and dtypes as the reference's; every element written; inputs unchanged.")


def _form(observed: Observed, transforms: bool) -> str:
    given = [ArraySpec(shape=o.shape, dtype=_name(o.dtype)) for o in observed.result.outputs]
    expected = observed.yardstick.outputs
    if len(given) != len(expected):
        return f"The kernel returns {len(given)} outputs, the reference {len(expected)}."
    for position, (spec, wanted) in enumerate(zip(given, expected, strict=True)):
        if wrong := _difference(spec, wanted, transforms):
            return f"Output {position} {wrong}."
    return ""


def _difference(given: ArraySpec, wanted: Expected, transforms: bool) -> str:
    same = np.prod(given.shape, dtype=int) == wanted.r.size if transforms else given.shape == wanted.r.shape
    if not same:
        return f"has the shape {list(given.shape)}; the reference's has {list(wanted.r.shape)}"
    if given.dtype != wanted.dtype.replace("tfloat32", "float32"):
        return f"is {given.dtype}; the reference's is {wanted.dtype}"
    return ""


def _name(dtype: np.dtype[np.generic]) -> str:
    return dtype.name if dtype.name != "bool" else "bool_"


def _changed_inputs(result: CaseResult, evidence: Evidence) -> str:
    mutable = {
        spec.name for shapes in evidence.specification.shape_sets.values() for spec in shapes.inputs if spec.mutable
    }
    changed = [name for name in result.mutated if name not in mutable]
    return f"The kernel wrote to its input {changed[0]}." if changed else ""


_BARRIER = " Where one core uses what the other stores, let both meet in between: nisa.core_barrier."


def _unwritten(repeat: Repeat, cores: int) -> str:
    """An element that depends on what fresh memory held, or on which core runs first, was never written for certain."""
    or_order = " or depend on which core runs first" if cores > 1 else ""
    for position, (first, second) in enumerate(zip(repeat.first.outputs, repeat.second.outputs, strict=False)):
        differs = _bits(first) != _bits(second)
        if differs.any():
            count = int(differs.reshape(*first.shape, -1).any(axis=-1).sum())
            place = np.unravel_index(int(np.argmax(differs.reshape(*first.shape, -1).any(axis=-1))), first.shape)
            index = [int(i) for i in place]
            return (
                f"Output {position} is not written everywhere: {count} elements hold what memory held{or_order}, "
                f"first {index}."
            )
    return "" if _same_count([repeat.first, repeat.second]) else "The two runs returned different numbers of outputs."


def _same_count(results: Sequence[CaseResult]) -> bool:
    return len({len(result.outputs) for result in results}) == 1


def _bits(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.ascontiguousarray(array).view(np.uint8)
