"""One rule of the machine: its code, its sentence, how serious it is, what to do, its source, how it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nki_anvil.sim.rules.reading import Reading

BETA1 = "beta1"
"""What a program of Beta 1 says in place of a version."""


class Violation(NamedTuple):
    """One breach: the kernel's line, the numbers in words, how many instructions share both."""

    line: int
    message: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table."""

    code: str
    text: str
    """The rule in one sentence."""
    severity: str
    """``error`` or ``warning`` in the newest NKI."""
    remedy: str
    source: str
    """Where AWS says so."""
    breaches: Callable[[Reading], Iterable[Violation]]
    before: Mapping[str, str] = field(default_factory=dict[str, str])
    """Severities of older versions: ``{"0.3": "off"}`` holds below 0.3; and of Beta 1, under ``beta1``."""

    def severity_in(self, version: str) -> str:
        """How serious the rule is under an NKI version; an unreadable version counts as the newest."""
        if version == BETA1:
            return self.before.get(BETA1, self.severity)
        found = _number(version)
        for bound, severity in sorted(self.before.items(), key=lambda item: _number(item[0])):
            if bound != BETA1 and found < _number(bound):
                return severity
        return self.severity


def _number(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (1 << 30,)
