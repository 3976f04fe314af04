"""Which kernels of the current dialect a folder holds, read from the text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_IGNORED: Final = {"__pycache__", "node_modules", "build", "dist", "site-packages"}
_LARGEST: Final = 4 << 20
"""Bytes; a longer file was written by no person."""


@dataclass(frozen=True)
class Found:
    """One file with kernels in it, or one that should have been: ``fault`` says why it is not read."""

    file: Path
    kernels: tuple[tuple[str, int], ...] = ()
    """Name and line of each jitted function."""
    fault: str = ""


def discover(folder: Path) -> list[Found]:
    """The files under a folder that import ``nki`` and jit a function, and those that mention it but do not parse."""
    return [found for file in _files(folder) for found in _read(file)]


def _files(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).parts
        if not any(part.startswith(".") or part in _IGNORED for part in parts) and file.stat().st_size <= _LARGEST:
            yield file


def _read(file: Path) -> Iterator[Found]:
    text = file.read_text(errors="replace")
    if "nki" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        what = getattr(error, "msg", None) or str(error)
        yield Found(file, fault=f"it does not parse{f' (line {line})' if line else ''}: {what}")
        return
    kernels = tuple(_jitted(tree)) if _is_current(tree) else ()
    if kernels:
        yield Found(file, kernels)


def _is_current(tree: ast.Module) -> bool:
    """Whether ``nki`` itself is imported; Beta 1 imports ``neuronxcc.nki``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "nki" for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "nki":
            return True
    return False


def _jitted(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list)):
            yield node.name, node.lineno


def _is_jit(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        return _is_jit(decorator.func)
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name == "jit"
