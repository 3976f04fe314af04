"""Which of its mutable arguments ``forward`` updates in place, and which output each is then."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from nki_anvil.lab.bent_draws import bent, copied
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule

Array = np.ndarray[Any, Any]

SECONDS: Final = 2.0
"""For how long bent draws are tried: own draws may not reach what writes."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Of one argument in one run."""

    ran: bool
    """Whether NumPy can run the text as it is written."""
    changed: bool
    itself: set[int]
    """Outputs that are its memory."""
    equal: set[int]


def updates(module: ReferenceModule, draws: Sequence[Sequence[Any]], mutable: Mapping[str, int]) -> dict[str, Any]:
    """By name the output that an updated argument is, and the names of those that none is; ``mutable`` tells places.

    What is written to counts, though no draw has it changed, and so does what is returned itself in every run.
    """
    if not mutable:
        return {"in_place": {}, "updated": []}
    runs = [*(_run(module, drawn, mutable) for drawn in draws), *_bent(module, draws[0], mutable)]
    found: dict[str, int | None] = {}
    for name, place in mutable.items():
        seen = [run[name] for run in runs]
        returned = _common([one.itself for one in seen if one.ran])
        if returned is not None or any(one.changed for one in seen) or any(_writes(module, d, place) for d in draws):
            found[name] = _common([one.equal for one in seen if one.changed]) if returned is None else returned
    return {
        "in_place": {name: output for name, output in found.items() if output is not None},
        "updated": [name for name, output in found.items() if output is None],
    }


def _run(module: ReferenceModule, drawn: Sequence[Any], mutable: Mapping[str, int]) -> dict[str, _Seen]:
    given = copied(drawn)
    try:
        outputs = module.plain(given)
    except ReferenceFault:
        outputs = []
    return {name: _seen(drawn[place], given[place], outputs) for name, place in mutable.items()}


def _seen(before: Array, after: Array, outputs: Sequence[Array]) -> _Seen:
    itself = {at for at, output in enumerate(outputs) if _is_itself(after, output)}
    equal = {at for at, output in enumerate(outputs) if _equal(after, output)}
    return _Seen(bool(outputs), not _equal(before, after), itself, equal)


def _bent(module: ReferenceModule, drawn: Sequence[Any], mutable: Mapping[str, int]) -> Iterator[dict[str, _Seen]]:
    """Those on which it fails are left out, and all where it might not end on them."""
    until = time.monotonic() + SECONDS
    for other in () if module.may_go_on else bent(drawn):
        if time.monotonic() > until:
            return
        found = _run(module, other, mutable)
        if all(one.ran for one in found.values()):
            yield found


def _writes(module: ReferenceModule, drawn: Sequence[Any], place: int) -> bool:
    """Whether it fails where the argument cannot be written to: a mask that takes no element writes, too."""
    given = copied(drawn)
    given[place].flags.writeable = False
    try:
        module.plain(given)
    except ReferenceFault as fault:
        return "read-only" in str(fault.__cause__)
    return False


def _common(outputs: Sequence[set[int]]) -> int | None:
    """The first that is in all of them."""
    return min(set[int].intersection(*outputs), default=None) if outputs else None


def _is_itself(argument: Array, output: Array) -> bool:
    """Whether it is all of the same memory, element by element."""
    if argument.ctypes.data != output.ctypes.data or argument.dtype != output.dtype or argument.size != output.size:
        return False
    in_order = argument.flags.c_contiguous and output.flags.c_contiguous
    return (in_order or argument.strides == output.strides) and np.shares_memory(argument, output)


def _equal(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=True)
