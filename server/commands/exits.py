"""Exit statuses: 0 passed or kept, 1 rejected or reverted, 2 usage, 3 backend trouble, 4 undecided."""

from __future__ import annotations

from nki_anvil.backends.errors import AnvilError, BackendError, Refusal

PASSED, REJECTED, USAGE, BACKEND, UNDECIDED = 0, 1, 2, 3, 4
OUTCOMES = {"keep": PASSED, "revert": REJECTED, "undecided": UNDECIDED}


def status_of(error: AnvilError) -> int:
    if isinstance(error, BackendError):
        return BACKEND
    return REJECTED if isinstance(error, Refusal) else USAGE
