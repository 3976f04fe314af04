"""``verified.json``: which texts passed and which files are worked on, for hooks that import nothing of ours.

Shape, complete enough for a script of the standard library that hashes a file as ``lab.digest`` does::

    {"schema": 1, "problems": {"<name>": {"kernel": "<absolute path>", "open": true,
                                          "best": ["<digest>", ...], "passed": ["<digest>", ...],
                                          "earlier": ["<absolute path>", ...], "begun": "<ISO 8601>",
                                          "sessions": ["<a client's session>", ...],
                                          "sources": {"<absolute path>": "<SHA-256>", ...}}}}

``passed`` is newest last and capped; an open problem's file whose digest is in neither list is not verified.
``earlier`` are files that were the problem's kernel before it was opened with another: what was edited there is still
edited. ``sessions`` are those that worked on the problem; the empty one stands for a client that names none.
``begun`` tells a problem from an earlier one of its name: what passed for that has not passed for this one.
``sources`` are the files that the problem rests on: where one is another, what passed has not passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pydantic import Field

from nki_anvil.backends.errors import StateDamaged
from nki_anvil.backends.job import Record
from nki_anvil.lab import state

SESSIONS: Final = 50
"""Per problem, the newest last."""
EARLIER: Final = 20
"""Files per problem, the newest last."""
KEPT: Final = 500
"""Digests per problem: 32 KiB at most, which a hook reads in well under a millisecond."""


class Known(Record):
    kernel: str
    open: bool = True
    best: tuple[str, ...] = ()
    """Of every origin."""
    passed: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    begun: str = ""
    sessions: tuple[str, ...] = ()
    sources: dict[str, str] = Field(default_factory=dict)


class VerifiedFile(Record):
    schema_number: int = Field(default=1, alias="schema")
    problems: dict[str, Known] = Field(default_factory=dict)


def read(root: Path) -> VerifiedFile:
    """Raises StateDamaged."""
    return state.read_model(root / "verified.json", VerifiedFile) or VerifiedFile(schema=1)


def _begun(root: Path) -> VerifiedFile:
    """The file, or a new one where it is damaged: it repeats what other files hold, and a hook only reminds."""
    try:
        return read(root)
    except StateDamaged:
        return VerifiedFile(schema=1)


def note(
    root: Path,
    problem: str,
    kernel: str,
    *,
    passed: str | None = None,
    failed: str | None = None,
    best: Callable[[], tuple[str, ...]] | None = None,
    sources: Mapping[str, str] | None = None,
    begun: str = "",
    still_open: bool = True,
) -> None:
    """Record that a digest passed or failed, which digests are best, or that work on a problem began or ended.

    What is best is asked under the lock: asked before, an older answer could be written last.
    """
    with state.locked(root / ".verified.lock"):
        file = _begun(root)
        old = file.problems.get(problem, Known(kernel=kernel))
        before = old.passed if old.begun == begun else ()
        digests = tuple(digest for digest in before if digest not in (passed, failed))
        new = Known(
            kernel=kernel,
            open=still_open,
            best=old.best if best is None else best(),
            passed=(*digests, passed)[-KEPT:] if passed else digests,
            earlier=_earlier(old, kernel) if old.begun == begun else (),
            begun=begun,
            sessions=old.sessions,
            sources=old.sources if sources is None else dict(sources),
        )
        if new != old or problem not in file.problems:
            _write(root, file, problem, new)


def _earlier(old: Known, kernel: str) -> tuple[str, ...]:
    """The files before this one; where the problem goes back to one of them, it is the kernel again."""
    before = dict.fromkeys((*old.earlier, old.kernel))
    return tuple(path for path in before if path != kernel)[-EARLIER:]


def attend(root: Path, problem: str, session: str) -> bool:
    """A client's session works on a problem. False where the problem was never noted."""
    with state.locked(root / ".verified.lock"):
        file = _begun(root)
        old = file.problems.get(problem)
        if old is not None and session not in old.sessions:
            sessions = (*old.sessions, session)[-SESSIONS:]
            _write(root, file, problem, old.model_copy(update={"sessions": sessions}))
        return old is not None


def _write(root: Path, file: VerifiedFile, problem: str, known: Known) -> None:
    everything = VerifiedFile(schema=1, problems={**file.problems, problem: known})
    state.write_text(root / "verified.json", everything.model_dump_json(by_alias=True, indent=1) + "\n")
