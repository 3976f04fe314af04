"""What kernels failed at, by the version of the problem: under whatever name, in whatever workspace it was found.

It lies in the user's data folder. Otherwise a new name, a removed record or an older one that was put back would give a
failed kernel new cases, and whoever asks often enough finds cases that it passes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from nki_anvil.lab import state
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict

Key = tuple[str, str, str, int, bool]
"""As a verdict's."""

Index = dict[tuple[str, Key], Verdict]
"""By what failed, a text or a program, and the key."""


def note(data: Path, specification: Specification, failure: Verdict) -> None:
    """To be called before the verdict is stored with its attempt. Which function is entered is no part of a version."""
    if any(gate.code == "EntryMissing" for gate in failure.gates):
        return
    if _found(data, specification, failure.kernel_digest, failure.key) is None:
        state.append_line(_path(data, specification), failure.model_dump(mode="json"))


def of(data: Path, specification: Specification, text: str, key: Key) -> Verdict | None:
    """The failure of the text with this digest, as a verdict of this problem. Raises StateDamaged."""
    found = _found(data, specification, text, key)
    if found is None or found.problem == specification.name:
        return found
    said = found.failed_at(f"The problem {found.problem} is the same, and there: ")
    return said.model_copy(update={"problem": specification.name})


def of_program(data: Path, specification: Specification, passed: Verdict) -> Verdict | None:
    """What the same instructions failed at under another text, as a verdict of this one. Raises StateDamaged."""
    if not passed.programs_digest:
        return None
    found = _found(data, specification, _program(passed.programs_digest), passed.key)
    if found is None:
        return None
    said = found.failed_at("The same instructions failed in another text: ")
    of_this = {"problem": specification.name, "kernel_digest": passed.kernel_digest, "seconds": passed.seconds}
    return said.model_copy(update=of_this)


def every(data: Path, version: str, text: str, programs: Iterable[str] = ()) -> Iterator[Verdict]:
    """All that the text with this digest, or any of its programs, failed at at this version of a problem, on whatever
    chip. Raises StateDamaged."""
    asked = {text, *map(_program, filter(None, programs))}
    for path in sorted((data / "failures").glob(f"{version[:32]}.*.jsonl")):
        yield from (verdict for (what, _), verdict in _index(path).items() if what in asked)


def _found(data: Path, specification: Specification, what: str, key: Key) -> Verdict | None:
    found = _index(_path(data, specification)).get((what, key))
    return found.model_copy(update={"seconds": 0.0}) if found else None


def _index(path: Path) -> Index:
    try:
        there = path.stat()
    except FileNotFoundError:
        return {}
    return _read(path, there.st_ino, there.st_mtime_ns, there.st_size)


def _path(data: Path, specification: Specification) -> Path:
    return data / "failures" / f"{specification.version[:32]}.{specification.chip}.jsonl"


@functools.lru_cache(maxsize=8)
def _read(path: Path, *_as_it_is: int) -> Index:
    index: Index = {}
    for line in state.read_lines(path):
        try:
            verdict = Verdict.model_validate(line)
        except ValidationError:  # of another nki-anvil, whose gates were others
            continue
        index.setdefault((verdict.kernel_digest, verdict.key), verdict)
        if verdict.condemns_program:
            index.setdefault((_program(verdict.programs_digest), verdict.key), verdict)
    return index


def _program(digest: str) -> str:
    return f"program {digest}"
