"""Reads kernel text: what of it is executed, what is left out, and which function is the kernel.

It decides nothing about safety, that is the process boundary's part, and runs nothing of the text.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from nki_anvil.backends.worker.absent import DEFINITIONS, targets
from nki_anvil.sim.again import again

FILENAME = "kernel.py"
"""The name that the text is compiled under, in tracebacks and for the tracer."""

MODULES = frozenset({
    "__future__", "abc", "collections", "dataclasses", "enum", "functools", "itertools", "math", "ml_dtypes",
    "neuronxcc", "nki", "numpy", "operator", "typing", "typing_extensions",
})  # fmt: skip
"""Top-level modules that kernel text can import; others become a name that fails when it is used."""

JIT_NAMES = frozenset({"jit", "nki_jit", "baremetal", "benchmark", "profile", "simulate_kernel", "trace"})
"""Last part of the decorators that make a function a kernel, in both dialects."""

DEFAULT_ENTRIES = ("kernel", "optimized_kernel")

_FIRST = "Write one function `kernel`, decorated with `@nki.jit`; anvil://guides/language shows one."

_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
"""How Python finds a declared encoding in one of the first two lines (PEP 263)."""
_UTF8 = re.compile(r"utf[-_]?8|utf[-_]8[-_].*", re.IGNORECASE)
"""Whatever begins so is UTF-8 to Python."""

_MOST_STATEMENTS, _MOST_PARTS, _MOST_BITS = 2000, 200_000, 1024

_KEPT = (ast.Import, ast.ImportFrom, *DEFINITIONS, ast.Assign, ast.AnnAssign, ast.AugAssign)


class KernelTextError(Exception):
    """The text is no kernel: it does not parse, or has no function to enter. Carries the fields of a KernelError."""

    def __init__(self, code: str, message: str, line: Optional[int] = None, text: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.line, self.text, self.remedy = code, message, line, text, remedy


@dataclass(frozen=True)
class KernelText:
    """Parsed text: the statements to execute, in order, and those that are left out."""

    source: str
    docstring: Optional[str]
    statements: tuple[ast.stmt, ...]
    absent: tuple[str, ...]
    """Names of modules that are not there and that nothing else binds."""
    skipped: tuple[ast.stmt, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The first line of each statement that is left out, with its number."""
        return tuple(map(describe, self.skipped))

    def line(self, number: Optional[int]) -> str:
        """A line of the text, stripped; empty where there is none."""
        lines = self.source.splitlines()
        return lines[number - 1].strip() if number and 0 < number <= len(lines) else ""


def parse(source: str) -> KernelText:
    """Split the text's top level; raises KernelTextError with the line where it does not parse."""
    _refuse_encodings(source)
    try:
        tree = again(ast.parse, source, FILENAME)
        again(compile, source, FILENAME, "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        message = f"The kernel does not parse: {getattr(error, 'msg', None) or error}."
        shown = (getattr(error, "text", "") or "").strip()
        raise KernelTextError("SyntaxError", message, line, shown, _readable(source, line)) from None
    _refuse_sizes(tree)
    kept: list[ast.stmt] = []
    absent: list[str] = []
    skipped: list[ast.stmt] = []
    for statement in _one_by_one(tree.body):
        if _is_docstring(statement):
            continue
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and not _available(statement):
            absent += _bound_names(statement)
            skipped.append(statement)
        elif isinstance(statement, _KEPT) and _binds_names(statement):
            kept.append(statement)
        else:
            skipped.append(statement)
    bound = {name for one in kept for name in targets(one)}
    missing = tuple(name for name in absent if name not in bound)
    return KernelText(source, ast.get_docstring(tree, clean=False), tuple(kept), missing, tuple(skipped))


def entry_name(text: KernelText, wanted: Optional[str] = None) -> str:
    """The function asked for, else ``kernel``, else ``optimized_kernel``, else the only jitted one."""
    if not text.source.strip():
        raise KernelTextError("EntryMissing", "The kernel's text is empty.", remedy=_FIRST)
    functions = [s for s in text.statements if isinstance(s, ast.FunctionDef)]
    names = {function.name for function in functions} | set(_assigned(text.statements))
    for name in (wanted,) if wanted else DEFAULT_ENTRIES:
        if name in names:
            return name
    _refuse_branches(text, (wanted,) if wanted else DEFAULT_ENTRIES)
    defined = ", ".join(f"`{function.name}`" for function in functions) or "none"
    if wanted:
        near = difflib.get_close_matches(wanted, [function.name for function in functions], n=1)
        remedy = f"Name the kernel's function `{wanted}`" + (f"; did you mean `{near[0]}`?" if near else ".")
        message = f"The kernel has no function `{wanted}`; it defines {defined}."
        raise KernelTextError("EntryMissing", message, remedy=remedy)
    jitted = [function.name for function in functions if any(map(_is_jit, function.decorator_list))]
    jitted += [name for name in _assigned(text.statements, jit_only=True) if name not in jitted]
    if len(jitted) == 1:
        return jitted[0]
    found = "no jitted function" if not jitted else "several: " + ", ".join(f"`{name}`" for name in jitted)
    raise KernelTextError(
        "EntryMissing",
        f"Which function is the kernel is not clear: there is no `kernel` or `optimized_kernel`, and {found}.",
        remedy="Name the kernel's function `kernel` and decorate it with `@nki.jit`.",
    )


def _refuse_branches(text: KernelText, names: Sequence[Optional[str]]) -> None:
    """Says where the function is that was looked for, if a branch of an ``if`` or a ``try`` defines it."""
    for statement in text.skipped:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef) and node.name in names:
                raise KernelTextError(
                    "EntryMissing",
                    f"`{node.name}` is defined in a branch; a kernel's function stands at the top level of its file.",
                    node.lineno,
                    text.line(node.lineno),
                    "Define it once, outside of `if`, `try` and `with`.",
                )


def first_entry(source: str) -> Optional[str]:
    """The function that a text is entered by where none is asked for; None where that is not clear."""
    try:
        return entry_name(parse(source))
    except KernelTextError:
        return None


def _refuse_encodings(source: str) -> None:
    """A text that declares another encoding than UTF-8 is another program, of its own comments, once it is imported."""
    for number, line in enumerate(re.split(r"\r\n|\r|\n", source, maxsplit=2)[:2], 1):
        found = _ENCODING.match(line)
        if found and not _UTF8.fullmatch(found[1]):
            raise KernelTextError(
                "SyntaxError",
                f"The kernel declares its encoding as {found[1][:40]}; a kernel is UTF-8 text.",
                number,
                line.strip()[:200],
                f"Remove line {number}, and save the file as UTF-8.",
            )


def _refuse_sizes(tree: ast.Module) -> None:
    """A text of so many parts would be read for minutes; Python itself writes no number of so many digits."""
    if len(tree.body) > _MOST_STATEMENTS or sum(1 for _ in ast.walk(tree)) > _MOST_PARTS:
        message = (
            f"The kernel has {len(tree.body)} statements at its top level, or more than {_MOST_PARTS} parts in all."
        )
        raise KernelTextError("SyntaxError", message, remedy="Write loops and functions for what repeats.")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > _MOST_BITS:
            message = f"The kernel has a number of {node.value.bit_length()} bits."
            raise KernelTextError("SyntaxError", message, node.lineno, "", f"No number needs more than {_MOST_BITS}.")


def _readable(source: str, line: Optional[int]) -> str:
    """The next step where Python cannot read a text."""
    if "\0" in source:
        return "It holds null bytes, as UTF-16 and binary files do: save it as UTF-8 text."
    where = f"line {line}, or the line before it where a bracket or a text is left open" if line else "the text"
    return f"Mend {where}: it is not Python."


def _one_by_one(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with ``import a, b`` as two, since one of them may be absent."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (ast.copy_location(ast.Import([alias]), statement) for alias in statement.names)
        else:
            yield statement


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _available(statement: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.level == 0 and (statement.module or "").partition(".")[0] in MODULES
    return all(alias.name.partition(".")[0] in MODULES for alias in statement.names)


def _bound_names(statement: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    return [name for name in names if name != "*" and name not in MODULES]


def _binds_names(statement: ast.stmt) -> bool:
    """False for an assignment to anything but names, e.g. ``os.environ["X"] = "1"``."""
    if isinstance(statement, ast.Assign):
        return all(map(_is_name, statement.targets))
    return not isinstance(statement, (ast.AnnAssign, ast.AugAssign)) or _is_name(statement.target)


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name)


def _is_jit(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        return _is_jit(decorator.func)
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name in JIT_NAMES


def _assigned(statements: Iterable[ast.stmt], jit_only: bool = False) -> Iterator[str]:
    """Names bound at the top level by a call or another name: ``kernel = nki.jit(body)``, ``kernel = body``."""
    for statement in statements:
        if not isinstance(statement, ast.Assign):
            continue
        called = isinstance(statement.value, ast.Call) and _is_jit(statement.value.func)
        if called or (not jit_only and isinstance(statement.value, (ast.Call, ast.Name, ast.Subscript))):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def describe(statement: ast.stmt) -> str:
    """Its first line, with its number."""
    first = ast.unparse(statement).splitlines()[0]
    return f"line {statement.lineno}: {first[:120]}"
