"""Whether the records of a problem are those that were stored: every record against the seals.

It reads and never writes, and says nothing of whether a record is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel

from nki_anvil.backends.run import Origin
from nki_anvil.lab import beam, diary, owed, programs, receipt, seals, state
from nki_anvil.lab.attempt import Attempt, Profiles
from nki_anvil.lab.problem import RECORD, Problem

ORIGINS: tuple[Origin, ...] = ("device", "modelled")

NEVER_SEALED = "is not sealed: no server with this data folder stored it"


def faults(problem: Problem, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Raises StateDamaged."""
    records = [*_records(problem, attempts)]
    known = seals.known(problem.folder)  # after the records: a seal is older than its record, so that none is missed
    told = diary.written(problem.folder)  # after the seals: a line is older than its seal
    sealed = {of for of, _ in known}
    for of, record in records:
        if of not in sealed:
            yield f"{of}: {type(record).__name__.lower()} {NEVER_SEALED}"
        elif (of, seals.seal(record)) not in known:
            yield f"{of}: {type(record).__name__.lower()} is not as it was stored"
    there = {seals.line_seal(line) for line in told}
    yield from _added(problem.folder / programs.FILE)
    gone = sum(1 for of, seal in known if of == diary.FILE and seal not in there)
    if gone:
        yield f"diary: {gone} of its lines were changed or taken out"


def _added(path: Path) -> Iterator[str]:
    """Lines that no server wrote."""
    sealed = seals.lines(path)
    added = sum(line not in sealed for line in state.read_lines(path))
    if added and path.name not in {of for of, _ in seals.known(path.parent)}:
        yield f"{path.name} {NEVER_SEALED}"
    elif added:
        yield f"{path.name}: {added} of its lines were added or changed"


def _derived(problem: Problem, attempts: Sequence[Attempt]) -> Iterator[tuple[Path, type[BaseModel]]]:
    """Files of records from which others are derived."""
    folder = problem.folder
    for origin in ORIGINS:
        yield beam.path(folder, origin), beam.Beam
    for attempt in attempts:
        yield attempt.folder / "profile.json", Profiles
    for path in sorted((folder / "profiled").glob("*/profile.json")):
        yield path, Profiles
    for path in sorted((folder / owed.FOLDER).glob("*.json")):
        yield path, owed.Debt


def _records(problem: Problem, attempts: Sequence[Attempt]) -> Iterator[tuple[str, BaseModel]]:
    """Everything that is sealed, each with what it is of."""
    yield "specification", problem.specification
    yield RECORD, problem.record
    for attempt in attempts:
        yield f"lineage {attempt.number}", attempt.lineage
        for judgement in attempt.written():
            yield attempt.sealed_as, judgement
    for path, kind in _derived(problem, attempts):
        yield from _if_there(seals.name_of(problem.folder, path), state.read_model(path, kind))
    for origin in ORIGINS:
        pointer = problem.best(origin)
        place = receipt.path(problem.folder, origin)
        yield from _if_there(pointer.path.name, pointer.written())
        yield from _if_there(place.name, receipt.written(place))


def _if_there(of: str, record: BaseModel | None) -> Iterator[tuple[str, BaseModel]]:
    if record is not None:
        yield of, record
