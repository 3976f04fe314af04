"""One candidate on its way through ``evaluate_candidates``."""

from __future__ import annotations

from dataclasses import dataclass

from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.results import Outcome
from nki_anvil.lab.verdict import Verdict


@dataclass(frozen=True)
class Entrant:
    """One candidate on its way through the call."""

    attempt: Attempt | None = None
    is_working_file: bool = False
    repeated: bool = False
    error: str = ""
    verdict: Verdict | None = None
    screened: float | None = None
    """Speedup over best by one paired round."""
    comparison: Comparison | None = None

    @property
    def number(self) -> int:
        """Of its attempt; only asked of one that has one."""
        return self.attempt.number if self.attempt else -1

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.passed

    @property
    def speedup(self) -> float | None:
        known = self.comparison.speedup if self.comparison else None
        return known if known is not None else self.screened

    @property
    def gain(self) -> float | None:
        """What decides: of an end-to-end problem the ratio of scores."""
        known = self.comparison.gain if self.comparison else None
        return known if known is not None else self.screened

    @property
    def program(self) -> str:
        """Instruction digest, or the text's where there is none."""
        program = self.verdict.instruction_digest if self.verdict else ""
        return program or (self.attempt.digest if self.attempt else "")

    @property
    def is_progress(self) -> bool:
        """Kept, and not just an earlier keep in other words."""
        return self.outcome == "keep" and self.comparison is not None and self.comparison.same_as is None

    @property
    def outcome(self) -> Outcome | None:
        if not self.passed:
            return None
        return self.comparison.outcome if self.comparison else "undecided"
