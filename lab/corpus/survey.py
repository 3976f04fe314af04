"""Runs a folder's kernels, those stated first, then those whose files hold examples, and gathers how they fared."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel

from nki_anvil.backends.corpus.child import Bounds, ask
from nki_anvil.backends.errors import ArgumentsInvalid, PathUnreadable
from nki_anvil.lab.corpus import sidecar
from nki_anvil.lab.corpus.discovery import Found, discover
from nki_anvil.lab.corpus.fate import Fate, fate
from nki_anvil.lab.corpus.sidecar import Sidecar, Stated

Task: TypeAlias = Callable[[], "list[Fate]"]
Tell: TypeAlias = Callable[[Fate], None]

_UNTRIED = "nothing here calls it: state its arguments in corpus.toml"


class Survey(BaseModel):
    """A folder's kernels."""

    folder: str
    kernels: list[Fate]

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(one.status for one in self.kernels))

    def __str__(self) -> str:
        """The count alone: each kernel's line was told when it was there."""
        counted = ", ".join(f"{count} {status}" for status, count in sorted(self.counts.items())) or "no kernel"
        return f"{self.folder}: {counted}"

    def __bool__(self) -> bool:
        """Whether everything that was tried came out as it should."""
        return all(one.good is not False for one in self.kernels)


@dataclass(frozen=True)
class Corpus:
    """A folder, what is stated of it, and what a process may take."""

    folder: Path
    stated: Sidecar
    bounds: Bounds = field(default_factory=Bounds)
    python: str = ""

    @property
    def roots(self) -> list[str]:
        """Where the kernels import from, the corpus itself last."""
        named = [str((self.folder / root).resolve()) for root in self.stated.roots]
        return [*named, str(self.folder)]

    def ask(self, file: Path, request: dict[str, Any]) -> dict[str, Any]:
        """The record of one process."""
        asked = {**request, "file": str(file), "roots": self.roots}
        return ask(asked, self.bounds, self.python or self.stated.python or None).record


def survey(
    folder: Path,
    *,
    statements: Path | None = None,
    match: str = "*",
    python: str = "",
    bounds: Bounds | None = None,
    processes: int = 1,
    tell: Tell | None = None,
) -> Survey:
    """Every kernel under a folder whose file, name or ``file:name`` matches; ``tell`` hears of each as it ends.

    Raises PathUnreadable for a folder that is not there, ArgumentsInvalid for a corpus.toml that makes no sense.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise PathUnreadable(f"{folder} is no folder.", "Name the folder that holds the kernels.")
    corpus = Corpus(folder, sidecar.read(statements, folder), bounds or Bounds(), python)
    tasks = [*_stated(corpus, match), *_discovered(corpus, match)]
    with ThreadPoolExecutor(max(1, processes)) as pool:
        found = [one for fates in pool.map(partial(_done, tell=tell), tasks) for one in fates]
    return Survey(folder=str(folder), kernels=found)


def _done(task: Task, tell: Tell | None) -> list[Fate]:
    """A task's fates, told before the same thread begins another."""
    fates = task()
    if tell is not None:
        for one in fates:
            tell(one)
    return fates


def _stated(corpus: Corpus, match: str) -> list[Task]:
    wanted = [one for one in corpus.stated.kernel if _matches(match, one.file, one.entry, one.label)]
    return [partial(_run_stated, corpus, one) for one in wanted]


def _run_stated(corpus: Corpus, one: Stated) -> list[Fate]:
    file = corpus.folder / one.file
    if not file.is_file():
        raise ArgumentsInvalid(f"corpus.toml names {one.file}, which is not in {corpus.folder}.", "Correct it.")
    record = corpus.ask(file, {"operation": "kernel", **one.request(corpus.stated.version)})
    return [fate(one.file, one.label, record, one.refused)]


def _discovered(corpus: Corpus, match: str) -> list[Task]:
    """One task per file that has kernels which are not stated."""
    stated = {(one.file, one.entry) for one in corpus.stated.kernel}
    tasks: list[Task] = []
    for found in discover(corpus.folder):
        file = found.file.relative_to(corpus.folder).as_posix()
        wanted = [name for name, _ in found.kernels if (file, name) not in stated and _matches(match, file, name)]
        if found.fault and _matches(match, file):
            tasks.append(partial(_unread, file, found))
        elif wanted:
            tasks.append(partial(_run_examples, corpus, file, found, wanted))
    return tasks


def _unread(file: str, found: Found) -> list[Fate]:
    return [Fate(file=file, kernel="", status="unread", why=found.fault)]


def _run_examples(corpus: Corpus, file: str, found: Found, wanted: Sequence[str]) -> list[Fate]:
    answer = corpus.ask(found.file, {"operation": "examples", "version": corpus.stated.version})
    if "failed" in answer:
        return [fate(file, name, answer) for name in wanted]
    return [_of_calls(file, name, answer) for name in wanted]


def _of_calls(file: str, name: str, answer: dict[str, Any]) -> Fate:
    """The worst of a kernel's calls; what an example asserts counts as well."""
    calls = [call for call in answer["calls"] if call["entry"] == name]
    ended = [f"{example}: {why}" for example, why in answer["examples"].items() if why]
    if not calls:
        reason = "; ".join(ended) or answer["left_out"]
        return Fate(file=file, kernel=name, status="untried", why=f"{_UNTRIED}{f' ({reason})' if reason else ''}")
    fates = [fate(file, name, call) for call in calls]
    worst = min(fates, key=lambda one: (one.good is not False, one.status != "runs"))
    if worst.good and any("assertion failed" in why for why in ended):
        return worst.model_copy(update={"status": "differs", "why": "; ".join(ended)})
    if worst.status == "runs" and not ended:
        return worst.model_copy(update={"why": f"{', '.join(answer['examples']) or 'its file'} came to its end"})
    return worst


def _matches(pattern: str, file: str, *names: str) -> bool:
    return any(fnmatch.fnmatch(text, pattern) for text in (file, *names, *(f"{file}:{name}" for name in names)))
