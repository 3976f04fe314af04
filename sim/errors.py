"""What a frontend raises about kernel text: each error with a stable code, the kernel's line and the remedy."""

from __future__ import annotations


class TraceError(Exception):
    """The kernel text cannot become a program.

    ``code`` is stable (``NKI-SHAPE``, ``NKI-BOUNDS`` ...), ``line`` counts from 1 in the kernel's own file or is None,
    ``remedy`` is the next step.
    """

    def __init__(self, code: str, message: str, line: int | None = None, remedy: str = "") -> None:
        self.code = code
        self.message = message
        self.line = line
        self.remedy = remedy
        super().__init__(code, message, line, remedy)

    def __str__(self) -> str:
        place = f" (line {self.line})" if self.line else ""
        advice = f" {self.remedy}" if self.remedy else ""
        return f"[{self.code}]{place} {self.message}{advice}"


class RuleBroken(TraceError):
    """The program breaks a rule of the machine; ``code`` is the rule's."""


class NotSimulated(TraceError):
    """The name or feature exists in NKI, but not in this simulator."""

    def __init__(self, message: str, line: int | None = None, remedy: str = "") -> None:
        super().__init__("NKI-NOT-SIMULATED", message, line, remedy)

    def __reduce__(self) -> tuple[type[NotSimulated], tuple[str, int | None, str]]:
        return type(self), (self.message, self.line, self.remedy)


class MissingName(TraceError, AttributeError):
    """A module of the emulated tree has no such name; also an AttributeError, so that ``hasattr`` answers."""


class MissingFeature(NotSimulated, AttributeError):
    """A module of the emulated tree lacks a name that NKI has; also an AttributeError, so that ``hasattr`` answers."""
