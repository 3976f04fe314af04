"""Which sides of its conditions a reference takes: of what follows on one that no case takes, no kernel is judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias

import numpy as np

Sides: TypeAlias = dict[str, int]
"""By a condition's place, ``file:line:instruction``: where it was false somewhere, 1, true, 2, and both, 3."""

FALSE: Final = 1
TRUE: Final = 2
ASKING_WHAT_NO_INPUT_IS: Final = frozenset({np.isnan, np.isinf, np.isfinite})
"""Inputs are numbers: what comes of others is nobody's concern."""
_OURS: Final = str(Path(__file__).parent)
_NUMPY: Final = str(Path(np.__file__).parent)


def note(sides: Sides, condition: Any) -> None:
    """Take what a condition came to, if it is one."""
    found: Any = np.asarray(condition)
    if found.dtype == np.bool_ and found.size:
        place = _place(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        sides[place] = sides.get(place, 0) | (TRUE if found.any() else 0) | (0 if found.all() else FALSE)


def _place(frame: FrameType | None) -> str:
    """Where the author's text asks."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith((_OURS, _NUMPY)):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}:{frame.f_lasti}"
        frame = frame.f_back
    return ":0:0"


def joined(sides: Sides, more: Mapping[str, int]) -> None:
    """Take what other runs had, in place."""
    for place, seen in more.items():
        sides[place] = sides.get(place, 0) | seen


def untaken(sides: Mapping[str, int]) -> Iterator[str]:
    """A warning for each condition that is the same in all cases."""
    for place, seen in sides.items():
        file, line, _ = place.split(":")
        if seen != FALSE | TRUE:
            never = "true" if seen == FALSE else "false"
            yield (
                f"In no case is a condition in line {line} of {file} ever {never}: what hangs on that is not judged. "
                "Let get_inputs draw what makes it so, in a few rows."
            )
