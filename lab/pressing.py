"""A search for rows that are hard on one kernel: where it uses most of its limits, rows like these come next.

What a formula loses, a term that is left out or a guard that is too large shows a little on ordinary rows, and more the
nearer they are to where it breaks. So a few rounds of changes lead there, wherever that is, and no family has to name
it. Honest arithmetic has nowhere to be led to: what its limits allow moves with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from nki_anvil.backends.job import Case, InputSpec
from nki_anvil.backends.worker.arguments import inside
from nki_anvil.backends.worker.inputs import PRESSED
from nki_anvil.lab import row_changes, strain
from nki_anvil.lab.comparing import worst
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.specification import Specification

Array = np.ndarray[Any, Any]
Inputs = Mapping[str, Array]

ROUNDS: Final = 16
SECONDS: Final = 20.0
"""After which no further round begins."""
MARGIN: Final = 2.0
"""Times its limit that a kernel is off in a row that was sought for being hard."""
KEPT: Final = 24
"""Rows from which others are made."""
FROM_A_CASE, CASES = 3, 16
"""Rows of a case at first, and of how many cases."""
ROWS, TOGETHER = 256, 8
"""Rows of a round at least, as far as so many cases hold them."""
THROUGHOUT: Final = 0.2
"""Rows that are made of what one place has."""
LARGEST: Final = 1 << 18
"""Elements of a case's inputs up to which rows are sought."""


@dataclass(frozen=True, slots=True)
class Hard:
    """A row of all inputs that have it, and how much of its limits the kernel used there."""

    share: float
    parts: dict[str, Array]


class Press:
    """One search at one shape set. ``own`` are inputs of an own draw, for what rows have no part of."""

    def __init__(self, specification: Specification, shapes: str, own: Inputs, rows: int, random: Any) -> None:
        self._specification, self._shapes, self._random = specification, shapes, random
        self._specs = {spec.name: spec for spec in specification.shape_sets[shapes].inputs if spec.name in own}
        self._own = dict(own)
        split = any(_is_free(spec) and _has_rows(own[name], rows) for name, spec in self._specs.items())
        self.rows = rows if split else 1
        self._parted = [name for name in own if not split or _has_rows(own[name], rows)]
        self._free = [name for name in self._parted if _is_free(self._specs[name])]
        self._hard: list[Hard] = []
        self._round = 0

    @property
    def goes_on(self) -> bool:
        return bool(self._hard) and bool(self._free) and self._round < ROUNDS

    def learn(self, inputs: Inputs, shares: Array, most: int) -> None:
        """Keep the hardest rows of a case."""
        for row in np.argsort(-shares)[:most] if self.rows > 1 else [0]:
            share = float(shares[row] if self.rows > 1 else shares.max())
            self._hard.append(
                Hard(share, {name: np.array(self._part(inputs[name], int(row))) for name in self._parted})
            )
        self._hard = sorted(self._hard, key=lambda one: -one.share)[:KEPT]

    def broken_by(self, observed: Sequence[Observed], inputs: Mapping[str, Inputs]) -> Observed | None:
        """Learn from what came of a round, ``inputs`` by the cases' keys; the first in which the kernel is wrong, by
        more than the limits of cases that nobody sought."""
        for one in observed:
            if one.result.error is None and (shares := strain.of_rows(one)) is not None:
                self.learn(inputs[one.case.key], shares, KEPT)
                known = strain.known_alone(one)
                if worst(known, self._specification).share >= MARGIN:
                    return known
        return None

    def next(self) -> list[tuple[Case, dict[str, Array]]]:
        """Cases of rows that were made of those."""
        self._round += 1
        count = min(TOGETHER, max(1, -(-ROWS // self.rows)))
        return [(self._case(number), self._inputs()) for number in range(count)]

    def _case(self, number: int) -> Case:
        key = f"pressed{self._round}x{number}"
        seed = int(self._random.integers(1 << 31))
        return Case(key=key, shapes=self._shapes, seed=seed, family=PRESSED)

    def _inputs(self) -> dict[str, Array]:
        found = {name: np.array(item) for name, item in self._own.items()}
        for row in range(self.rows):
            for name, part in self._made().items():
                self._part(found[name], row)[...] = part
        for name in self._free:
            bound = inside(self._specs[name].model_dump(), found[name].astype(np.float32))
            found[name] = bound.astype(found[name].dtype)
        return found

    def _made(self) -> dict[str, Array]:
        """A row of one of the hardest, changed once or twice."""
        random = self._random
        parent = self._hard[int(len(self._hard) * random.random() ** 2)].parts
        other = self._hard[int(random.integers(len(self._hard)))].parts
        made = {name: part.astype(np.float64) if name in self._free else part for name, part in parent.items()}
        if random.random() < THROUGHOUT:
            made |= row_changes.throughout({name: made[name] for name in self._free}, random)
        for _ in range(int(random.integers(1, 3))):
            name = self._free[int(random.integers(len(self._free)))]
            beside = [made[one] for one in self._free if one != name and made[one].shape == made[name].shape]
            made[name] = row_changes.changed(made[name], other[name], beside, self._groups(made, name), random)
        return made

    def _groups(self, made: Mapping[str, Array], name: str) -> list[Array]:
        """Integers of each of its places, of the row's own or of all rows."""
        shape, whole = made[name].shape, [one for one, spec in self._specs.items() if "int" in spec.dtype]
        found = [made.get(one, self._own[one]) for one in whole]
        return [np.broadcast_to(one, shape) for one in found if one.size > 1 and _goes_over(one.shape, shape)]

    def _part(self, item: Array, row: int) -> Array:
        return item[row : row + 1] if self.rows > 1 else item


def begun(
    specification: Specification, shapes: str, observed: Sequence[Observed], own: Inputs, random: Any
) -> tuple[Press, list[tuple[Observed, Array]]] | None:
    """A search and the cases that it begins with, hardest first; None where there is nothing to seek."""
    if sum(item.size for item in own.values()) > LARGEST:
        return None
    found = [(one, shares) for one in observed if (shares := strain.of_rows(one)) is not None]
    if not found:
        return None
    found.sort(key=lambda pair: -float(pair[1].max(initial=0.0)))
    return Press(specification, shapes, own, len(found[0][1]), random), found[:CASES]


def _is_free(spec: InputSpec) -> bool:
    bound = spec.domain in ("constant", "integer", "index") or spec.order is not None
    return "float" in spec.dtype and not bound and not spec.zero_or_one and prod(spec.shape or ()) > 1


def _goes_over(few: Sequence[int], many: Sequence[int]) -> bool:
    """Whether what has one shape spreads over the other as it is."""
    pairs = zip(reversed(few), reversed(many), strict=False)
    return len(few) <= len(many) and all(one in (1, other) for one, other in pairs)


def _has_rows(item: Array, rows: int) -> bool:
    return rows > 1 and item.ndim > 0 and item.shape[0] == rows
