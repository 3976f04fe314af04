"""What a reference could do without, as far as draws tell: each ``lesser`` of it, run beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.searched_reference import Array, Inputs, copy
from nki_anvil.lab.sides import Sides
from nki_anvil.lab.telling_apart import apart

ALIKE: Final = 1
DIFFERS: Final = 2
SECONDS: Final = 3.0
"""For looking at them, in each of the reference's processes."""
LARGEST: Final = 1 << 20
"""Elements of inputs up to which they are looked at."""
CASES: Final = 8
"""Of those that first draws do not tell from the reference, how many are searched for."""


class LesserReferences:
    """``seen``: by what is left out, ``file:line:text``, whether any case told it from the reference.

    ``told`` is how far it has to be off, of the largest of a row, for limits to tell it surely.
    """

    def __init__(self, module: ReferenceModule, told: float = np.inf) -> None:
        self.seen: Sides = {}
        self._told = told
        self._module, self._left_s = module, SECONDS
        self._plain: dict[int, Callable[[Sequence[Any]], list[Array]] | None] = {}

    def without(self, number: int) -> Callable[[Inputs], list[Array]] | None:
        """One of them; None where it cannot even be read."""
        if number not in self._plain:
            try:
                self._plain[number] = self._module.without(self._module.lessers[number])
            except ReferenceFault:
                self._plain[number] = None
        plain = self._plain[number]
        return None if plain is None else lambda given: plain(list(copy(given).values()))

    def alike(self, draws: Sequence[Inputs], among: Sequence[int] | None = None) -> list[int]:
        """Those, of all or ``among`` some, that none of these draws tells from the reference."""
        end, found = time.monotonic() + SECONDS, list[int]()
        said = [(drawn, known) for drawn in draws if (known := self._said(drawn)) is not None]
        if not said:
            return found
        for number in range(len(self._module.lessers)) if among is None else among:
            if time.monotonic() > end:
                break
            if not any(self._differs(number, *one) for one in said):
                found.append(number)
        return found

    def look_at(self, drawn: Inputs) -> None:
        """As long as there is time: in what no case tells, no kernel is judged."""
        if sum(np.size(item) for item in drawn.values()) > LARGEST:
            return
        begun, said = time.monotonic(), self._said(drawn)
        if said is None:
            return
        for number, lesser in enumerate(self._module.lessers):
            key = f"{self._module.path.name}:{lesser.line}:{lesser.said}"
            if lesser.tells and self.seen.get(key, 0) < DIFFERS and time.monotonic() - begun < self._left_s:
                self.seen[key] = DIFFERS if self._differs(number, drawn, said) else ALIKE
        self._left_s -= time.monotonic() - begun

    def _said(self, drawn: Inputs) -> list[Array] | None:
        """None where it takes no such formats in its author's own call."""
        try:
            return self._module.plain(list(copy(drawn).values()))
        except ReferenceFault:
            return None

    def _differs(self, number: int, drawn: Inputs, said: Sequence[Array]) -> bool:
        """Whether the outputs are others; so they are of what fails without it, and of what cannot be read."""
        without = self.without(number)
        try:
            return without is None or bool(apart(said, without(drawn), 0, self._told).any())
        except ReferenceFault:
            return True


def untold(seen: Mapping[str, int]) -> Iterator[str]:
    """A warning for each thing that no case tells the reference from, where it is left out."""
    for key, found in seen.items():
        file, line, said = key.split(":", 2)
        if found == ALIKE:
            yield (
                f"In no case does it matter that in line {line} of {file} {said}: a kernel that does without is not "
                "told from the others. Let get_inputs draw where it matters, in a few rows."
            )
