"""The ways that a choice between two may go, as bits, and what is no choice at all."""

from __future__ import annotations

from typing import Final

FIRST: Final = 1
"""The first operand wins, or what is asked is true."""
SECOND: Final = 2
"""The second does, or it is false."""
BOTH: Final = FIRST | SECOND
WEAKER: Final = 3
"""A way that only who tries it out takes: as it goes, but with a limit ``WEAKENED`` times as far out."""
WEAKENED: Final = 64.0
BEGUN: Final = 4
"""One operand lies beyond everything, as what maxima begin with: that it loses says nothing."""
BEYOND: Final = 2.0**100
"""Of a number's size: no kernel's limit lies there."""
