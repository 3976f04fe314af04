"""Memory as text that a team can review: JSON Lines sorted by id, and AccelOpt's list of rewrites on the way in.

What comes in is from strangers: text is cleaned and cut, ids are computed anew, and unless the person who imports it
vouches for it, no number and no provenance is believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from nki_anvil.backends.errors import MemoryInvalid, PathUnreadable
from nki_anvil.backends.job import Record
from nki_anvil.memory.adding import LIMITS, Added, checked, identity, place
from nki_anvil.memory.experience import IMPORTED, Draft, Experience, Measurement, Provenance
from nki_anvil.memory.hygiene import claim_in, order_in, without_claims, without_remarked_claims
from nki_anvil.memory.store import Store
from nki_anvil.memory.tagging import tagged
from nki_anvil.memory.text import capped, clean

_STORED: Final = {"superseded_by", "retired_at"}


class Line(Draft):
    """One line of an export."""

    id: str = ""
    provenance: Provenance = "asserted"
    source: str = ""
    created_at: float = 0.0
    evidence: tuple[Measurement, ...] = ()


class Rewrite(BaseModel):
    """An item of AccelOpt's list, as far as it is believed."""

    service_name: str = ""
    case_name: str = ""
    id: str = ""
    title: str = ""
    summary: str = ""
    slow_kernel: str = ""
    fast_kernel: str = ""


_REWRITES: Final = TypeAdapter(list[Rewrite])


class Imported(Record):
    """What came of an import; ``refused`` says why, with the line's number."""

    added: int = 0
    merged: int = 0
    refused: tuple[str, ...] = ()


def export_lines(store: Store) -> Iterator[str]:
    """Every active experience with its evidence, one JSON object per line, sorted by id."""
    for experience in store.experiences():
        line = experience.model_dump(mode="json", exclude=_STORED) | {"evidence": _evidence(store, experience.id)}
        yield json.dumps(line, sort_keys=True, ensure_ascii=False)


def export_file(store: Store, path: Path) -> int:
    """Write an export, whole or not at all; returns how many experiences it holds."""
    lines = list(export_lines(store))
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return len(lines)


def import_file(store: Store, path: Path, *, trusted: bool = False) -> Imported:
    """Read an export or AccelOpt's list; raises PathUnreadable. See ``import_lines``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PathUnreadable(f"{path} cannot be read: {error}.", "Name a JSON Lines or JSON file.") from error
    if text.lstrip().startswith("["):
        return import_lines(store, accelopt_lines(text))
    return import_lines(store, text.splitlines(), trusted=trusted)


def import_lines(store: Store, lines: Iterable[str], *, trusted: bool = False) -> Imported:
    """Take in an export. ``trusted`` keeps evidence and provenance; else speedups become facts that someone asserts."""
    results: list[Added] = []
    refused: list[str] = []
    with store.writing() as connection:
        for number, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            try:
                lesson, evidence = _lesson(text, trusted=trusted, now=store.clock())
            except MemoryInvalid as error:
                refused.append(f"line {number}: {error.message}")
                continue
            known = connection.execute("SELECT 1 FROM evidence WHERE experience = ?", (lesson.id,)).fetchone()
            results.append(place(connection, lesson, [] if known else evidence))
    merged = sum(result.status == "merged" for result in results)
    return Imported(added=len(results) - merged, merged=merged, refused=tuple(refused))


def _unclaimed(name: str, text: str) -> str:
    return without_remarked_claims(text) if name.endswith("snippet") else without_claims(text)


def _lesson(text: str, *, trusted: bool, now: float) -> tuple[Experience, list[Measurement]]:
    try:
        line = Line.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise MemoryInvalid(f"not an experience ({where}: {first['msg']})", "") from error
    evidence = list(line.evidence) if trusted else []
    draft = Draft(**{name: getattr(line, name) for name in Draft.model_fields})
    draft = checked(draft.model_copy(update={name: capped(getattr(line, name), LIMITS[name]) for name in LIMITS}))
    if not trusted:
        draft = draft.model_copy(
            update={name: capped(_unclaimed(name, getattr(draft, name)), LIMITS[name]) for name in LIMITS}
        )
    if draft.kind == "speedup" and not any(one.outcome == "kept" and one.speedup for one in evidence):
        draft = draft.model_copy(update={"kind": "fact"})
    draft = tagged(draft)
    provenance = line.provenance if trusted else "asserted"
    source = clean(line.source) if trusted else _hearsay(clean(line.source))
    if order_in(source):
        raise MemoryInvalid("the source addresses its reader", "")
    lesson = Experience(
        **draft.model_dump(),
        id=identity(draft),
        provenance=provenance,
        source=capped(source, 300),
        created_at=line.created_at or now,
    )
    return lesson, evidence


def _hearsay(source: str) -> str:
    """Where strangers say that it comes from: never to be taken for the server's own words, and without figures."""
    said = source.removeprefix(IMPORTED).lstrip(": ")
    return f"{IMPORTED}: {said}" if said and not claim_in(said) else IMPORTED


def _evidence(store: Store, experience: str) -> list[dict[str, Any]]:
    columns = ", ".join(Measurement.model_fields)
    query = f"""SELECT {columns} FROM evidence WHERE experience = ?
        AND number NOT IN (SELECT evidence FROM withdrawn) ORDER BY number"""  # noqa: S608 - our own names
    with store.reading() as connection:
        rows = connection.execute(query, (experience,)).fetchall()
    return [Measurement.model_validate(dict(row)).model_dump(mode="json") for row in rows]


def accelopt_lines(text: str) -> list[str]:
    """AccelOpt's list of rewrites as lines of ours: its summaries as assertions, without the speedups it claims."""
    try:
        items = _REWRITES.validate_json(text)
    except ValidationError as error:
        raise MemoryInvalid("The file is not a list of rewrites.", "Import JSON Lines or AccelOpt's list.") from error
    return [_line(item).model_dump_json() for item in items if item.summary]


def _line(item: Rewrite) -> Line:
    title = item.title.replace("*", "").strip() or item.summary.strip().splitlines()[0]
    return Line(
        kind="fact",
        title=title,
        when_to_use=f"A kernel like {item.service_name} {item.case_name}.".replace("_", " "),
        advice=item.summary,
        slow_snippet=item.slow_kernel,
        fast_snippet=item.fast_kernel,
        source=f"AccelOpt {item.service_name}/{item.case_name}/{item.id}",
    )
