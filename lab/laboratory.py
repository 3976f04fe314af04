"""The laboratory: where state lies, which backends there are, which rules hold, and the randomness and clock of it all.

One per server process; several may share a workspace. It must not know protocols, tools or the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from nki_anvil.backends.backend import Backend
from nki_anvil.backends.errors import BackendUnsupported
from nki_anvil.lab import problem as problems
from nki_anvil.lab import seals, standard, state, verified
from nki_anvil.lab.attempts import Attempts
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.seams import Load, Look, Verify

What = Literal["best", "attempt", "problem"]


def tell_nobody(_problem: str, _what: What, _attempt: int | None) -> None:
    """A listener that does not care."""


@dataclass
class Laboratory:
    workspace: Path
    data: Path
    """The user's data folder: hidden cases, reference caches, noise of hosts."""
    backends: Mapping[str, Backend]
    random: np.random.Generator
    clock: Callable[[], datetime]
    """Now, in UTC."""
    backend: str = "simulator"
    """The one that a problem is opened on when none is named."""
    rules: Rules = field(default_factory=Rules)
    session: str = ""
    """Of the client, where it names one: whose work a hook reminds of."""
    changed: Callable[[str, What, int | None], None] = tell_nobody
    """Called with problem, what changed and the attempt; possibly from another thread."""
    load: Load = standard.load
    verify: Verify = standard.verify
    look: Look = standard.look
    _attended: set[str] = field(default_factory=set[str], repr=False)
    _attempts: dict[str, Attempts] = field(default_factory=dict[str, Attempts], repr=False)

    @cached_property
    def root(self) -> Path:
        """``.nki-anvil``, prepared when first needed. Raises StateNewer, StateDamaged, PathUnwritable."""
        root = state.prepare(self.workspace.resolve())
        seals.keep(root, self.data.resolve())
        return root

    def names(self) -> list[str]:
        """Of every problem that is open; looking does not make a state folder."""
        return problems.names(self.root) if (self.workspace / ".nki-anvil").is_dir() else []

    def folder(self, name: str) -> Path:
        return self.root / "problems" / name

    def find(self, name: str) -> Problem | None:
        """The problem that is stored under this name, wherever it belongs, or None. Raises StateDamaged."""
        if not problems.NAME.fullmatch(name):
            return None
        record = problems.read(self.folder(name))
        return Problem(self.folder(name), record, self.attempts(name)) if record else None

    def problem(self, name: str) -> Problem:
        """One of this workspace, as it was stored. Raises as ``written`` does, and StateDamaged."""
        found = self.written(name)
        found.refuse_when_put_back()
        return found

    def written(self, name: str) -> Problem:
        """One of this workspace, whoever wrote it. Raises ProblemUnknown with the nearest names, PathOutside."""
        found = self.find(name)
        if found is None:
            raise problems.unknown(name, self.names())
        found.refuse_when_elsewhere(self.workspace)
        return found

    def attempts(self, name: str) -> Attempts:
        return self._attempts.setdefault(name, Attempts(self.folder(name) / "attempts"))

    def attend(self, name: str) -> None:
        """This client works on the problem: written down once."""
        if name not in self._attended and verified.attend(self.root, name, self.session):
            self._attended.add(name)

    def shown(self, path: str | Path) -> str:
        """A path as it is told: relative to the workspace where it lies inside, and accepted again like this."""
        inside = self.workspace.resolve()
        return str(path.relative_to(inside) if (path := Path(path)).is_relative_to(inside) else path)

    def backend_named(self, name: str) -> Backend:
        """Raises BackendUnsupported with the names there are."""
        if name not in self.backends:
            raise BackendUnsupported(
                f"There is no backend {name!r} here, only {', '.join(sorted(self.backends)) or 'none'}.",
                "Name one of these, or set NKI_ANVIL_HOSTS.",
            )
        return self.backends[name]
