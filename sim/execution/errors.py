"""Why a program could not be executed to its end: a fault of the kernel, never of the machine that simulates it."""

from __future__ import annotations


class ExecutionError(Exception):
    """A program that stopped. ``code`` is stable, ``line`` is the kernel's own (0: unknown)."""

    def __init__(self, code: str, message: str, line: int = 0) -> None:
        self.code = code
        self.message = message
        self.line = line
        super().__init__(f"line {line}: {message} [{code}]" if line else f"{message} [{code}]")


class NotSimulated(ExecutionError):
    """NKI has it and this simulator does not."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__("SIM-MISSING", message, line)
