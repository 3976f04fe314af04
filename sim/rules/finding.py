"""What a check has to say about one place of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SEVERITIES: Final = ("error", "warning", "off")


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule broken at one line of the kernel, ``count`` times."""

    code: str
    """Stable, e.g. ``TRN2-PART-128``."""
    severity: str
    """``error`` or ``warning``; rules that are off make no findings."""
    message: str
    line: int
    """1-based line of the kernel's text; 0 where the program does not say."""
    remedy: str
    count: int = 1
