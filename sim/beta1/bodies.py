"""Whether iterations of one ``nl.affine_range`` that were traced one by one, being unlike, stand for themselves.

Iterations that are alike are compared by their patterns (``dependencies``); these by the places that they touch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1.dependencies import adding_to, dependent, operands_of
from nki_anvil.sim.instructions import NAMES, TABLE
from nki_anvil.sim.kinds import WIDTHS
from nki_anvil.sim.program import NONE, SCHEMA

Rows = NDArray[np.int64]

_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_LOOK: Final = [_SITE[name] for name in ("dtype", "offset", "first_pair", "pairs")]
_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_WRITES: Final = np.array([len(TABLE[name].writes) for name in NAMES], np.int64)


@dataclass
class Touched:
    """What the iterations of one body touch of the tensors around it: different looks by tensor, and lines."""

    written: dict[int, Rows] = field(default_factory=dict[int, Rows])
    added: dict[int, Rows] = field(default_factory=dict[int, Rows])
    read: dict[int, Rows] = field(default_factory=dict[int, Rows])
    lines: dict[int, int] = field(default_factory=dict[int, int])


def check(loop: Any, sites: Rows, instructions: Rows, first_site: int, first_tensor: int, recorder: Any) -> None:
    """Refuse a body, all iterations of it, that touches what another body of its loop writes; sums may be added to."""
    mine = _touched(sites, instructions, first_site, first_tensor, recorder)
    for other in loop.bodies:
        for one, two in ((mine, other), (other, mine)):
            overwritten = () if loop.kind == "grid" else (two.written,)
            for written, touched in (
                *((one.written, looks) for looks in (two.read, two.added, *overwritten)),
                (one.added, two.read),
            ):
                for tensor in sorted(written.keys() & touched.keys()):
                    if _meet(written[tensor], touched[tensor], recorder):
                        raise dependent(loop, mine.lines[tensor], recorder.name_of(tensor))
    loop.bodies.append(mine)


def _touched(sites: Rows, instructions: Rows, first_site: int, first_tensor: int, recorder: Any) -> Touched:
    owner, slot, used = operands_of(instructions, sites, first_site)
    tensor = used[:, _SITE["tensor"]]
    there = (tensor != NONE) & (tensor < first_tensor)
    for moving in ("scalar_access", "vector_access"):
        there &= used[:, _SITE[moving]] == NONE
    writes = slot < _WRITES[instructions[owner, _INSTRUCTION["opcode"]]]
    adding = adding_to(instructions, recorder.attribute_records())[owner]
    sums = np.zeros(len(used), np.bool_)
    if adding.any():
        target = used[np.flatnonzero(slot == 0)[owner]]
        sums = adding & (used[:, [0, *_LOOK]] == target[:, [0, *_LOOK]]).all(axis=1)
    found = Touched()
    lines = instructions[owner, _INSTRUCTION["line"]]
    for looks, chosen in (
        (found.written, there & writes & ~sums),
        (found.added, there & sums),
        (found.read, there & ~writes & ~sums),
    ):
        different = np.unique(used[chosen][:, [0, *_LOOK]], axis=0)
        for number in np.unique(different[:, 0]).tolist():
            looks[number] = different[different[:, 0] == number, 1:]
            found.lines[number] = int(lines[chosen & (tensor == number)][0])
    return found


def _meet(one: Rows, other: Rows, recorder: Any) -> bool:
    """Whether two lists of looks at a tensor reach a byte in common."""
    alike = len(np.unique(np.concatenate([one[:, 0], other[:, 0]]))) == 1
    reached = [
        np.unique(np.concatenate([_places(look, alike, recorder) for look in looks.tolist()])) for looks in (one, other)
    ]
    return np.intersect1d(reached[0], reached[1], assume_unique=True).size > 0


def _places(look: list[int], alike: bool, recorder: Any) -> NDArray[np.int64]:
    """The elements of a tensor that a look reaches, or their bytes where looks are of several formats."""
    dtype, offset, first, pairs = look
    places: Rows = np.full(1, offset, np.int64)
    for step, count in recorder.pattern_at(first, pairs):
        places = np.add.outer(places, step * np.arange(count, dtype=np.int64)).ravel()
    width = int(WIDTHS[dtype])
    return places if alike else np.add.outer(places * width, np.arange(width, dtype=np.int64)).ravel()
