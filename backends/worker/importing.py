"""Executes a text as whoever imports the file does: as it stands, with nothing left out.

Where this gives another program than the statements that tracing keeps, the file is another kernel for who imports it
than for who has judged it.
"""

from __future__ import annotations

import ast
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, Optional

from nki_anvil.backends.worker.absent import Absent, AbsentModule, mentioned, needing, targets
from nki_anvil.backends.worker.executing import Leaving, execute, fresh_module
from nki_anvil.backends.worker.kernel_text import MODULES, KernelText

CHIP: Final = ("NEURON_PLATFORM", "NKI_")
"""How the variables begin that say for which chip a kernel is made, and how it computes."""
ASIDE_S: Final = 0.5
"""For all statements together that a kernel does without, such as a benchmark at the end of the file."""
_AT_LEAST_S: Final = 0.02
"""For each of them, whatever those before have taken."""
_HERE: Final = MODULES | sys.stdlib_module_names
"""Modules whose import is tried. Another's library, where there is one, takes seconds."""


class ChipSet(Exception):
    """A text sets for which chip kernels are made, for whoever imports it."""

    code = "TraceUnstable"
    remedy = "Leave it to whoever launches the kernel."

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"Importing the file sets {', '.join(names)}: the kernel is made for another chip then.")


def load(text: KernelText, name: str, *, asserting: bool = True) -> dict[str, Any]:
    """Execute every statement in a fresh module of that name; returns its namespace.

    What needs a module that is not here binds names that fail when they are used. What else goes wrong in statements
    that a kernel does without is passed over, for another machine may have what they need. Unless ``asserting``, checks
    by ``assert`` are left out, as ``python -O`` does. Raises ChipSet.
    """
    before = _of_chip()
    namespace = _loaded(text, name, asserting)
    if changed := sorted(one for one, _ in before ^ _of_chip()):
        raise ChipSet(changed)
    return namespace


def _of_chip() -> set[tuple[str, str]]:
    return {pair for pair in os.environ.items() if pair[0].startswith(CHIP)}


def _loaded(text: KernelText, name: str, asserting: bool) -> dict[str, Any]:
    statements = sorted((*text.statements, *text.skipped), key=lambda one: (one.lineno, one.col_offset))
    absent = needing(statements, text.absent)
    here = [one for one in statements if _may_be_here(one)]
    try:
        return _executed(text, name, here, absent, _Readable(absent), asserting)
    except Exception:  # whose annotations fail, can be imported by a Python that does not execute them
        return _executed(text, name, here, absent, _Readable(None), asserting)


def apart(text: KernelText, namespace: Mapping[str, Any]) -> frozenset[str]:
    """Names that only statements bind which a kernel does without, of absent modules, and of what these alone make.

    Here such modules may be, and what they make, as a logger is; what a kernel reaches is read, and names none of them.
    """
    absent = frozenset(name for name, value in namespace.items() if type(value) is Absent)
    skipped = {name for one in text.skipped for name in targets(one)}
    kept = {name for one in text.statements for name in targets(one)}
    made = {name for one in text.statements if _root(one) in text.absent for name in targets(one)}
    others = {name for one in text.statements if _root(one) not in text.absent for name in targets(one)}
    return absent | {*text.absent} | (made - others - skipped) | (skipped - kept)


def _root(statement: ast.stmt) -> Optional[str]:
    """The name that what is assigned begins with: ``logging`` of ``LOGGER = logging.getLogger(__name__)``."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    while isinstance(value, (ast.Attribute, ast.Call)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else None


def _executed(
    text: KernelText,
    name: str,
    statements: list[ast.stmt],
    absent: frozenset[str],
    readable: ast.NodeTransformer,
    asserting: bool,
) -> dict[str, Any]:
    module = fresh_module(text, name)
    budget = Budget(ASIDE_S)
    skipped = {id(one) for one in text.skipped}

    def within(statement: ast.stmt) -> AbstractContextManager[Any]:
        if id(statement) in skipped:
            return Aside(budget)
        hopeless = not absent.isdisjoint(mentioned(statement))
        return Leaving(module, statement, ends=Exception if hopeless else AbsentModule)

    execute(module, statements, readable, within, asserting=asserting)
    return module.__dict__


def _may_be_here(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return all(alias.name.partition(".")[0] in _HERE for alias in statement.names)
    return not isinstance(statement, ast.ImportFrom) or (statement.module or "").partition(".")[0] in _HERE


class Budget:
    """How long what a kernel does without may still take, in seconds."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def left(self) -> float:
        return max(self._left, _AT_LEAST_S)

    def take(self, seconds: float) -> None:
        self._left -= seconds


class _Enough(BaseException):
    """A statement that a kernel does without has taken its time."""


class Aside:
    """What is done within it ends when its time is over, and however it ends, what follows is done."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._running = budget, False
        self.ended = False
        """Whether its time was over before it was."""

    def __enter__(self) -> None:
        self._handler, self._timer = signal.signal(signal.SIGALRM, self._end), signal.getitimer(signal.ITIMER_REAL)[0]
        self._started, self._running = time.monotonic(), True
        signal.setitimer(signal.ITIMER_REAL, self._budget.left())

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> bool:
        self._running, self.ended = False, kind is _Enough
        taken = time.monotonic() - self._started
        signal.signal(signal.SIGALRM, self._handler)
        signal.setitimer(signal.ITIMER_REAL, max(self._timer - taken, _AT_LEAST_S) if self._timer else 0)
        self._budget.take(taken)
        return kind is not None

    def _end(self, _signal: int, _frame: object) -> None:
        if self._running:
            raise _Enough


class _Readable(ast.NodeTransformer):
    """Keeps annotations that name what is absent as text; without such names all that functions have."""

    def __init__(self, absent: Optional[frozenset[str]]) -> None:
        self._absent = absent

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("annotation", "returns"):
            asked: Optional[ast.expr] = getattr(node, field, None)
            if asked is not None and self._is_kept(node, asked):
                setattr(node, field, ast.copy_location(ast.Constant(ast.unparse(asked)), asked))
        return super().generic_visit(node)

    def _is_kept(self, node: ast.AST, annotation: ast.expr) -> bool:
        if self._absent is None:
            return not isinstance(node, ast.AnnAssign)
        return any(isinstance(part, ast.Name) and part.id in self._absent for part in ast.walk(annotation))
