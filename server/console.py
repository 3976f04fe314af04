"""stdout and stderr of a command: words on a terminal, JSON on request. Tables are loaded when there is a result."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich.console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from nki_anvil.server import phrasing

if TYPE_CHECKING:
    from nki_anvil.backends.backend import Report
    from nki_anvil.backends.errors import AnvilError
    from nki_anvil.tools.result import Result


class Console:
    """stdout for results, stderr for progress and complaints."""

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._out = rich.console.Console(highlight=False, soft_wrap=True)
        self._err = rich.console.Console(stderr=True, highlight=False)
        self._shown: Progress | None = None

    @staticmethod
    def complain(text: str) -> None:
        rich.console.Console(stderr=True, highlight=False, soft_wrap=True).print(text, style="red", markup=False)

    def refuse(self, error: AnvilError, problem: str | None = None) -> None:
        """Why a command was refused: for a person on stderr, for a script as ``{"error": {...}}`` on stdout."""
        said = phrasing.error(error, problem)
        if self._as_json:
            self._out.print_json(json.dumps({"error": said}))
        else:
            self.complain(" ".join(part for part in (said["message"], said["remedy"], f"[{error.code}]") if part))

    @contextmanager
    def progress(self) -> Generator[Report]:
        """Shows the newest word of a long call, and how far it is where it says so, if stderr is a terminal."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
        with Progress(*columns, console=self._err, transient=True, disable=not self._err.is_terminal) as shown:
            task = shown.add_task("starting", total=None)

            async def report(message: str) -> None:
                done, total = counted(message)
                shown.update(task, description=escape(message), completed=done, total=total)

            self._shown = shown
            try:
                yield report
            finally:
                self._shown = None

    def note(self, text: str) -> None:
        """Something about the command itself: on stderr, so that it is never part of a result."""
        self._err.print(text, markup=False, style="dim", soft_wrap=True)

    def line(self, value: Any) -> None:
        """One line of a result that is still growing: on stderr where JSON is to follow, which stands alone."""
        if self._shown is not None:
            self._shown.stop()
        if self._as_json:
            self.note(str(value))
        else:
            self._out.print(str(value), markup=False)
        if self._shown is not None:
            self._shown.start()

    def show(self, result: Result, problem: str | None = None) -> None:
        """What a tool answered about the problem of this name, its next steps as commands."""
        from nki_anvil.server import tables

        said = phrasing.result(result, problem)
        if self._as_json:
            self._out.print_json(said.model_dump_json())
        else:
            tables.show(self._out, said)

    def tell(self, value: Any, *, good: bool | None = None) -> None:
        """Something that is no tool's result: a text, or a model; coloured where it is good or bad."""
        from pydantic import BaseModel

        if not self._as_json:
            self._out.print(str(value), markup=False, style={None: "", True: "green", False: "red"}[good])
        elif isinstance(value, BaseModel):
            self._out.print_json(value.model_dump_json())
        else:
            self._out.print_json(json.dumps(value))


def counted(message: str) -> tuple[int, int | None]:
    """``seed 3 of 5`` is 2 done of 5; a message that does not count has no total."""
    found = re.search(r"\b(\d+) of (\d+)\b", message)
    return (max(0, int(found[1]) - 1), int(found[2])) if found else (0, None)
