"""The kernel that a call is about, from a path, a source or the problem's own file; stored before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab import budget, working_file
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.digest import digest
from nki_anvil.lab.workbench import Workbench


@dataclass(frozen=True)
class Text:
    """Kernel text and where it was read."""

    text: str
    path: Path | None
    is_working_file: bool

    @property
    def digest(self) -> str:
        return digest(self.text)


@dataclass(frozen=True)
class Given:
    """An attempt and how it reached this call."""

    attempt: Attempt
    is_new: bool
    is_working_file: bool


def read(bench: Workbench, kernel_path: str | None, source: str | None) -> Text:
    """Raises PathOutside, PathUnreadable, KernelMissing, ArgumentsInvalid."""
    if kernel_path is not None and source is not None:
        raise ArgumentsInvalid(
            "Both kernel_path and source were given.", "Give one, or neither for the problem's own file."
        )
    if source is not None:
        return Text(_sane(source), None, False)
    own = bench.problem.working_file
    if kernel_path is None:
        path = working_file.confine(bench.lab.workspace, own)
        return Text(working_file.read_working(path, bench.lab.shown(path)), own, True)
    path = working_file.confine(bench.lab.workspace, kernel_path)
    return Text(working_file.read(path, bench.lab.shown(path)), path, path == own.resolve())


def path(bench: Workbench, kernel_path: str | None) -> Path:
    """Where the kernel is read from. Raises PathOutside."""
    return working_file.confine(bench.lab.workspace, kernel_path or bench.problem.working_file)


def _sane(source: str) -> str:
    size = len(source.encode(errors="surrogatepass"))
    if size > working_file.LARGEST_BYTES:
        raise ArgumentsInvalid(
            f"The source has {size} bytes, and a kernel may have {working_file.LARGEST_BYTES}.",
            "Pass data as an input instead of as text, and repeat with loops.",
        )
    return source.removeprefix("\ufeff")


def take(
    bench: Workbench,
    given: Text,
    *,
    parent: str | None = None,
    plan: str | None = None,
    shown_id: str | None = None,
) -> Given:
    """The attempt of a text, made if the text is new. ``parent`` (a digest, shortened or whole) defaults to best."""
    attempts = bench.problem.attempts
    best = bench.best()
    comes_from = attempts.named(parent).digest if parent else best.digest if best else None
    budget.add_kernel(bench.problem.account, given.digest, bench.rules.attempts_limit)
    attempt, is_new = attempts.take(
        given.text,
        at=bench.now().isoformat(),
        parent=comes_from,
        plan=plan,
        shown_id=shown_id,
        path=str(given.path) if given.path else None,
    )
    if is_new:
        bench.lab.changed(bench.problem.name, "attempt", attempt.number)
    return Given(attempt, is_new, given.is_working_file)
