"""A user's file as a module: imported where that works, else as much of it as needs nothing that is missing.

It finds names and evaluates expressions in it; it knows nothing of what kernels are.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nki_anvil.backends.worker import kernel_text
from nki_anvil.backends.worker.absent import Absent


class Source:
    """A file's names. ``left_out`` says what of it could not be executed, and why."""

    def __init__(self, file: Path, roots: Sequence[str]) -> None:
        sys.path[:0] = [root for root in (*roots, str(file.parent)) if root not in sys.path]
        self.file = file
        self.left_out = ""
        try:
            self.namespace = _imported(file, roots)
        except (Exception, SystemExit) as error:
            self.left_out = f"{type(error).__name__}: {error}"
            self.namespace = _without_what_is_missing(file)

    def find(self, name: str) -> Any:
        """A name of the file, dotted, or ``module:name`` of another. Raises LookupError."""
        module, colon, path = name.rpartition(":")
        first, *rest = path.split(".")
        try:
            found: Any = importlib.import_module(module).__dict__[first] if colon else self.namespace[first]
            for part in rest:
                found = getattr(found, part)
        except (ImportError, KeyError, AttributeError) as error:
            why = f" ({self.left_out})" if self.left_out and not colon else f" ({error})"
            raise LookupError(f"`{name}` is not to be had from {self.file.name}{why}") from error
        return found

    def value(self, expression: str, **names: Any) -> Any:
        """The value of an expression over the file's names, ``np``, ``math`` and those given."""
        return eval(expression, {"np": np, "math": math, **self.namespace, **names})  # noqa: S307


def by_name(function: Callable[..., Any], positional: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the parameters' names, defaults among them; only those named where there is no signature."""
    try:
        bound = inspect.signature(function).bind(*positional, **named)
    except (TypeError, ValueError):
        return dict(named)
    bound.apply_defaults()
    return dict(bound.arguments)


def _imported(file: Path, roots: Sequence[str]) -> dict[str, Any]:
    """The file under its full name where it lies in a package, so that relative imports and pickles work."""
    name = module_name(file, roots)
    if "." in name:
        return importlib.import_module(name).__dict__
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.__dict__


def module_name(file: Path, roots: Sequence[str]) -> str:
    """The dotted name of a file in a package, by the folders with an ``__init__.py`` or by the roots; else its stem."""
    for root in map(Path, roots):
        if file.is_relative_to(root) and (file.parent / "__init__.py").exists():
            return ".".join(file.relative_to(root).with_suffix("").parts)
    parts = [file.stem]
    folder = file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    if len(parts) > 1 and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return ".".join(parts)


def _without_what_is_missing(file: Path) -> dict[str, Any]:
    """Definitions only: imports of what is not there, and what is done at import, are left out."""
    text = file.read_text()
    parsed = kernel_text.parse(text)
    here: dict[str, Any] = {"__name__": file.stem, "__file__": str(file)}
    here.update({name: Absent(name) for name in parsed.absent})
    for statement in parsed.statements:
        code = compile(ast.Module([statement], []), str(file), "exec", dont_inherit=True)
        try:
            exec(code, here)  # noqa: S102
        except Exception:  # noqa: S112 - whatever needed it fails with a name of its own
            continue
    return here
