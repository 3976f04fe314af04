"""Reads a kernel's syntax tree against the allow-list: what it names, stores and asks for, never its text.

Only what the entry function can reach counts; tests and scripts in the same file are nobody's concern.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nki_anvil.backends.worker.kernel_text import KernelText
from nki_anvil.lab import allowed

_BUILTIN_NAMES: Final = frozenset(dir(builtins))

_STATEMENTS: Final[dict[type[ast.AST], str]] = {
    ast.Try: "`try` is not available: a kernel that needs a fallback is two kernels. Remove it",
    ast.TryStar: "`try` is not available. Remove it",
    ast.Global: "`global` is not available. Pass the value as an argument",
    ast.AsyncFunctionDef: "`async` is not available. Use a plain function",
    ast.AsyncFor: "`async` is not available. Use a plain loop",
    ast.AsyncWith: "`async` is not available. Use a plain block",
    ast.Await: "`await` is not available. Call the function plainly",
}


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that a kernel may not do, with its line and what to write instead."""

    line: int
    message: str


def objections(text: KernelText, entry: str) -> list[Objection]:
    """Everything that is wrong with what ``entry`` reaches, by line."""
    defined = _definitions(text.statements)
    modules = _modules(text.statements)
    found: list[Objection] = []
    seen: set[str] = set()
    waiting = [entry, "*"]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in defined:
            continue
        seen.add(name)
        for statement in defined[name]:
            reader = _Reader(modules, frozenset(defined))
            reader.visit(statement)
            found += reader.found
            waiting += reader.reached
    return sorted(set(found), key=lambda objection: objection.line)


def _definitions(statements: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Top-level statements by the names they bind; imports are read wherever they stand."""
    defined: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in _bound(statement):
            defined.setdefault(name, []).append(statement)
    return defined


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.Assign() | ast.AnnAssign():
            yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        case _:
            return


def _modules(statements: Sequence[ast.AST]) -> dict[str, str]:
    """Names that stand for a module or a member of one, by dotted path."""
    paths: dict[str, str] = {}
    for statement in statements:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                paths[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                paths[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
    return paths


class _Reader(ast.NodeVisitor):
    """One top-level definition."""

    def __init__(self, modules: dict[str, str], defined: frozenset[str]) -> None:
        self.found: list[Objection] = []
        self.reached: list[str] = []
        self._modules = dict(modules)
        self._defined = defined
        self._local: frozenset[str] = frozenset()

    def visit(self, node: ast.AST) -> Any:
        if not self._local and isinstance(node, ast.stmt):
            self._local = frozenset(_stored(node))
            self._modules |= _modules([n for n in ast.walk(node) if isinstance(n, (ast.Import, ast.ImportFrom))])
        if type(node) in _STATEMENTS:
            self._object(node, _STATEMENTS[type(node)])
            return None
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._defined:
            self.reached.append(node.id)
        if isinstance(node.ctx, ast.Store):
            return
        if node.id in allowed.NEVER:
            self._object(
                node, f"`{node.id}` is not available in a kernel, also as a name of your own. Rename or remove it"
            )
        elif self._modules.get(node.id) in allowed.MODULES:
            self._object(node, f"`{node.id}` is a module, which cannot be given away. Write its member behind a dot")
        elif node.id in self._defined | self._local or node.id in self._modules:
            return
        elif node.id in allowed.FORBIDDEN or (node.id in _BUILTIN_NAMES and node.id not in allowed.BUILTINS):
            self._object(node, f"`{node.id}` is not available in a kernel. Remove it")

    def visit_Call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Name(id="type"), args=[argument], keywords=[]):
                self.visit(argument)
            case ast.Call(func=ast.Name(id=name)) if name in allowed.BY_NAME:
                self._named_attribute(node, name)
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    self.visit(argument)
            case _:
                self.generic_visit(node)

    def _named_attribute(self, node: ast.Call, function: str) -> None:
        match node.args:
            case [value, ast.Constant(value=str() as attribute), *rest]:
                self.visit(ast.copy_location(ast.Attribute(value, attribute, ast.Load()), node))
                for argument in rest:
                    self.visit(argument)
            case _:
                self._object(node, f"`{function}` needs a literal name here. Write the attribute behind a dot")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr.startswith(allowed.FORBIDDEN_PREFIXES) or node.attr in allowed.FORBIDDEN_ATTRIBUTES:
            self._object(node, f"The attribute `{node.attr}` is not available in a kernel. Remove it")
        elif not isinstance(node.ctx, ast.Load) and not _is_self(node.value):
            self._object(node, f"`{ast.unparse(node)}` is set: only `self` has attributes to set. Use a variable")
        elif node.attr in ("format", "format_map") and not _plain_template(node.value):
            self._object(node, "`format` on a text that is not a plain literal is not available. Use an f-string")
        path = self._path(node)
        if path is not None:
            self._member(node, path)
        else:
            self.visit(node.value)

    def _path(self, node: ast.expr) -> str | None:
        """The dotted path of a name that leads into a module; None for any other expression."""
        match node:
            case ast.Name(id=name) if name in self._modules and (name not in self._stored_here()):
                return self._modules[name]
            case ast.Attribute(value=value, attr=attribute):
                above = self._path(value)
                return None if above is None else f"{above}.{attribute}"
            case _:
                return None

    def _stored_here(self) -> frozenset[str]:
        return self._local - frozenset(self._modules)

    def _member(self, node: ast.AST, path: str) -> None:
        if complaint := _complaint(path):
            self._object(node, complaint)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A docstring has no effect."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._member(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            self._object(node, "A kernel is one file: a relative import has nothing to refer to. Copy what you need")
            return
        for alias in node.names:
            if alias.name == "*" and str(node.module).partition(".")[0] not in ("nki", "neuronxcc", "__future__"):
                self._object(node, f"`from {node.module} import *` hides what is used. Name what you import")
            self._member(node, f"{node.module}.{alias.name}")

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        if node.kwd_attrs or node.patterns:
            self._object(node, "A class pattern with anything in it reads attributes unseen. Use `isinstance` and `if`")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Annotations are never evaluated, so they are not read."""
        defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
        for part in [*node.decorator_list, *defaults, *node.body]:
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if node.keywords:
            self._object(node, "A class with a metaclass or other keywords is not available. Write a plain class")
        self.generic_visit(node)

    def _object(self, node: ast.AST, message: str) -> None:
        self.found.append(Objection(getattr(node, "lineno", 0), message + "."))


def _stored(tree: ast.AST) -> Iterator[str]:
    """Every name that a definition binds somewhere inside."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                yield name
            case _:
                pass


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _plain_template(node: ast.expr) -> bool:
    """A literal whose fields are bare names or numbers."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    fields = [part.partition("}")[0] for part in node.value.split("{")[1:]]
    return not any("." in field.partition(":")[0] or "[" in field for field in fields)


def _complaint(path: str) -> str | None:
    """Why a dotted path is not available; None where it is."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        prefix = ".".join(parts[:end])
        if prefix in allowed.MODULES:
            return _below(prefix, parts[end:])
    return f"`{parts[0]}` is not available in a kernel. Write it with nki, numpy for dtypes and constants, and math"


def _below(module: str, rest: Sequence[str]) -> str | None:
    names = allowed.MODULES[module]
    if not allowed.EVALUATING.isdisjoint(rest):
        return f"`{module}.{'.'.join(rest)}` executes the text of annotations. Remove it"
    if any(part.startswith("_") for part in rest):
        return f"`{module}.{'.'.join(rest)}` is private. Use the public names of {module}"
    if names is None or not rest or rest[0] in names or rest[0] == "*":
        return None
    instead = " Data is computed by instructions, with nki.isa" if module == "numpy" else ""
    return f"`{module}.{rest[0]}` is not available in a kernel.{instead}".rstrip(".")
