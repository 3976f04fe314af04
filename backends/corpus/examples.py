"""A file's own examples: its ``test_*`` functions that take nothing, and what stands under ``__main__``."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nki_anvil.backends.corpus import difference
from nki_anvil.backends.corpus.examining import Examined, Record
from nki_anvil.backends.corpus.recording import Unfinished, listening
from nki_anvil.backends.corpus.references import Reference, named_after
from nki_anvil.backends.corpus.source import Source, by_name
from nki_anvil.sim.kernel import Kernel


class Notebook:
    """What the kernels of one file did, call by call."""

    def __init__(self) -> None:
        self.calls: list[Record] = []
        self.source: Source | None = None

    def hear(self, kernel: Kernel, positional: list[Any], named: dict[str, Any], examined: Examined) -> None:
        """Write one call down, compared with the reference that the kernel's name leads to, if there is one."""
        record = {**examined.record, "entry": kernel.function.__name__}
        reference = named_after(self.source, kernel.function.__name__) if self.source else None
        if examined.executed and reference is not None:
            record |= compared(reference, by_name(kernel.function, positional, named), examined)
        self.calls.append(record)


def compared(reference: Reference, given: dict[str, Any], examined: Examined, tolerance: float | None = None) -> Record:
    """The outputs against the reference's: ``differences`` and ``tolerance``, or ``reference_error``."""
    try:
        wanted = difference.arrays(reference(given))
        differences = difference.of_all(examined.outputs, wanted)
    except Exception as error:
        return {"reference": reference.name, "reference_error": f"{type(error).__name__}: {error}"}
    allowed = difference.tolerance([*given.values(), *examined.outputs]) if tolerance is None else tolerance
    return {"reference": reference.name, "differences": differences, "tolerance": allowed}


def run(file: Path, roots: list[str], version: str) -> Record:
    """All examples of a file, each as far as it goes."""
    notebook = Notebook()
    ended: dict[str, str] = {}
    os.environ.setdefault("MPLBACKEND", "Agg")
    with listening(notebook.hear, version):
        source = notebook.source = Source(file, roots)
        for name, example in _examples(source):
            ended[name] = _outcome(example)
    return {"calls": notebook.calls, "examples": ended, "left_out": source.left_out}


def _outcome(example: Callable[[], Any]) -> str:
    """Empty where the example came to its end."""
    try:
        example()
    except Unfinished:
        return "the kernel did not come to its end"
    except AssertionError as error:
        return f"its assertion failed{': ' if str(error) else ''}{error}"
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _examples(source: Source) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, value in list(source.namespace.items()):
        if name.startswith("test_") and inspect.isfunction(value) and not _required(value):
            yield name, value
    tree = ast.parse(source.file.read_text())
    for statement in tree.body:
        if isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test):
            code = compile(ast.Module(statement.body, []), str(source.file), "exec", dont_inherit=True)
            yield "__main__", lambda code=code: exec(code, source.namespace)  # noqa: S102


def _required(function: Callable[..., Any]) -> bool:
    return any(one.default is one.empty for one in inspect.signature(function).parameters.values())
