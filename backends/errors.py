"""The error tree: everything that nki-anvil itself raises and a person or a model may read.

It stands in the lowest layer that has something to tell them, so that every layer above raises from the same tree::

    AnvilError
    ├── ArgumentsInvalid        arguments.invalid         a parameter that makes no sense
    ├── PathError
    │   ├── PathOutside         path.outside_workspace    resolves (also through a symlink) outside the workspace
    │   ├── PathUnreadable      path.unreadable           missing, a folder, no permission, not UTF-8
    │   └── PathUnwritable      path.unwritable           the workspace or data folder cannot be written
    ├── ProblemError
    │   ├── ProblemUnknown      problem.unknown           with the nearest names
    │   ├── ProblemChanged      problem.changed           reference or problem.toml changed after opening
    │   └── ProblemInvalid      problem.invalid           reference raises, exits, never ends, is constant ...
    ├── KernelMissing           kernel.missing            the problem has no kernel file, or it is gone
    ├── Refusal
    │   ├── GateUnverified      gate.unverified           benchmark before a passed full verdict
    │   ├── ReflexionRequired   guard.reflexion_required  the guard is closed until record_reflexion
    │   └── BudgetSpent         budget.spent
    ├── AttemptUnknown          attempt.unknown
    ├── MemoryInvalid           memory.invalid            an experience that may not be stored
    ├── StateError
    │   ├── StateDamaged        state.damaged             a state file that cannot be read, with its path
    │   └── StateNewer          state.newer               written by a newer nki-anvil
    └── BackendError
        ├── BackendUnreachable  backend.unreachable
        ├── BackendBusy         backend.busy
        ├── BackendUnsupported  backend.unsupported
        ├── BackendTimeout      backend.timeout           a machine that did not answer; a hanging kernel is a Verdict
        ├── BackendFailed       backend.failed            a worker that broke off, or whose result is damaged
        │   ├── WorkerKilled    backend.worker_killed     something on its host ended the worker
        │   ├── JobExpired      backend.expired           nobody attended the job for too long
        │   └── ResultTruncated backend.truncated         what came back is not all of it
        ├── BackendDiskFull     backend.disk_full
        ├── HostRebooted        host.rebooted             the host was started again while a job ran
        ├── PythonMissing       host.python               none there, or too old
        ├── HostKeyRefused      host.key_refused          the host accepts none of our keys
        ├── HostKeyUnknown      host.key_unknown
        │   └── HostKeyChanged  host.key_changed          it shows another key than the known one
        └── SdkMissing          sdk.missing

A message says what happened and the value; ``remedy`` says what to call or change next. A kernel that does not parse,
compile or run is not an error but a failed Verdict.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar, Final, cast

LONGEST: Final = 8000
"""Characters of a message: what was given may be megabytes, and is told back."""


class AnvilError(Exception):
    """Base of the tree. ``code`` is stable; ``remedy`` is one sentence, the next step."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message if len(message) <= LONGEST else f"{message[: LONGEST - 500]} [...] {message[-400:]}"
        self.remedy = remedy
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """What a person reads: the message, the remedy, the code in brackets."""
        return " ".join(part for part in (self.message, self.remedy, f"[{self.code}]") if part)


class ArgumentsInvalid(AnvilError):
    code = "arguments.invalid"


class PathError(AnvilError):
    """A path that cannot be used."""


class PathOutside(PathError):
    code = "path.outside_workspace"


class PathUnreadable(PathError):
    code = "path.unreadable"


class PathUnwritable(PathError):
    code = "path.unwritable"


class ProblemError(AnvilError):
    """A problem that cannot be worked on."""


class ProblemUnknown(ProblemError):
    code = "problem.unknown"


class ProblemChanged(ProblemError):
    code = "problem.changed"


class ProblemInvalid(ProblemError):
    code = "problem.invalid"


class KernelMissing(AnvilError):
    code = "kernel.missing"


class Refusal(AnvilError):
    """The state machine says no; what it asks for is in the remedy."""


class GateUnverified(Refusal):
    code = "gate.unverified"


class ReflexionRequired(Refusal):
    code = "guard.reflexion_required"


class BudgetSpent(Refusal):
    code = "budget.spent"


class AttemptUnknown(AnvilError):
    code = "attempt.unknown"


class MemoryInvalid(AnvilError):
    code = "memory.invalid"


class StateError(AnvilError):
    """State on disk that cannot be used; nothing is deleted or overwritten on its account."""


class StateDamaged(StateError):
    code = "state.damaged"


class StateNewer(StateError):
    code = "state.newer"


class BackendError(AnvilError):
    """A machine's failure. It is never stored as a verdict, and the same call may be tried again."""


class BackendUnreachable(BackendError):
    code = "backend.unreachable"


class BackendBusy(BackendError):
    code = "backend.busy"


class BackendUnsupported(BackendError):
    code = "backend.unsupported"


class BackendTimeout(BackendError):
    code = "backend.timeout"


class BackendFailed(BackendError):
    code = "backend.failed"


class WorkerKilled(BackendFailed):
    code = "backend.worker_killed"


class JobExpired(BackendFailed):
    code = "backend.expired"


class ResultTruncated(BackendFailed):
    code = "backend.truncated"


class BackendDiskFull(BackendError):
    code = "backend.disk_full"


class HostRebooted(BackendError):
    code = "host.rebooted"


class PythonMissing(BackendError):
    code = "host.python"


class HostKeyRefused(BackendError):
    code = "host.key_refused"


class HostKeyUnknown(BackendError):
    code = "host.key_unknown"


class HostKeyChanged(HostKeyUnknown):
    code = "host.key_changed"


class SdkMissing(BackendError):
    code = "sdk.missing"


@contextmanager
def one_error() -> Generator[None]:
    """What a task group collects, as the one error of the tree that a caller knows."""
    try:
        yield
    except BaseExceptionGroup as group:
        known = group.subgroup(AnvilError)
        if known is None:
            raise
        while isinstance(known, BaseExceptionGroup):
            known = cast("BaseException", known.exceptions[0])
        raise known from None
