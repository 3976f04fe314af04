"""What tracing leaves out of a text must not make another kernel of it for whoever imports the text.

Printing, benchmarks, tests and scripts in the same file are left out and do no harm; a statement that would change what
the entry function reaches does.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import Final

from nki_anvil.backends.worker.absent import mentioned
from nki_anvil.backends.worker.kernel_text import KernelText
from nki_anvil.lab import allowed, bindings
from nki_anvil.lab.annotation_forms import more_than_types
from nki_anvil.lab.kernel_reading import ASIDE, Objection, importing, is_main, reached
from nki_anvil.lab.quiet import Definitions, Quiet

_NAMING: Final = frozenset({"__name__", "globals", "vars", "locals", "exec", "eval", "setattr", "__import__"})

_DATACLASS: Final = frozenset({"dataclasses.dataclass"})
_IMPORTING: Final = (ast.Import, ast.ImportFrom, ast.Try)


def objections(text: KernelText, entry: str) -> list[Objection]:
    """Every left-out statement that would change what ``entry`` reaches, by line."""
    kept = bindings.definitions(text.statements)
    needed, _ = reached(text, entry)
    skipped = [*importing(text.skipped)]
    made = bindings.definitions([*text.statements, *skipped])
    judge = Quiet(made)
    written = (one for statement in [*text.statements, *skipped] for one in _annotated(statement))
    found = [
        _objection(one, "An annotation is more than a type, and tracing leaves it out", "Write the type alone")
        for one in more_than_types(written, made, _IMPORTING)
    ]
    found += [*_annotations(text, kept), *_left_annotations(skipped, made), *_names_itself(text)]
    for statement in skipped:
        if _is_star(statement):
            found.append(_objection(statement, "`import *` of a module that is not there may bind any name", "Name it"))
        changed = [
            name for name in sorted(bindings.bound(statement) & needed) if not _settled(name, statement, text, kept)
        ]
        found += [_changed(statement, name) for name in changed]
        if not changed and (loud := next(judge.loud(statement), None)) is not None:
            found.append(_loud(statement, loud))
    return sorted(set(found), key=lambda objection: objection.line)


def _is_star(statement: ast.stmt) -> bool:
    """Also within a ``try`` or an ``if``."""
    imports = [node for node in ast.walk(statement) if isinstance(node, ast.ImportFrom)]
    return any(alias.name == "*" for one in imports for alias in one.names)


def _settled(name: str, statement: ast.stmt, text: KernelText, kept: Definitions) -> bool:
    """Whether what is kept says the same without it: it binds the name anew before anything asks for it.

    A module that is not there alone is a name that fails when it is used. What is also a builtin's name is that until
    then, as what ``import *`` may have bound is.
    """
    if not kept.get(name):
        return isinstance(statement, (ast.Import, ast.ImportFrom))
    first = min(kept[name], key=lambda one: one.lineno)
    if first.lineno <= statement.lineno or not _certainly_binds(first, name):
        return False
    asked = any(_names(one, name) for one in text.statements if one.lineno < first.lineno)
    return not asked and not hasattr(builtins, name) and "*" not in kept


def _names(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(statement))


def _certainly_binds(statement: ast.stmt, name: str) -> bool:
    """Without asking for it before."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name == name and name not in mentioned(statement)
        case ast.Assign(targets=targets, value=value):
            return any(isinstance(t, ast.Name) and t.id == name for t in targets) and not _names(ast.Expr(value), name)
        case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
            return target == name and not _names(ast.Expr(value), name)
        case _:
            return isinstance(statement, (ast.Import, ast.ImportFrom))


def _annotations(text: KernelText, kept: Definitions) -> Iterator[Objection]:
    """Python before 3.14 executes those of functions, which tracing does not, and those that name what is absent."""
    for statement in text.statements:
        for annotation in _annotated(statement):
            if not _only_names(annotation, kept) and not _of_others(annotation, kept, frozenset(text.absent)):
                what = "An annotation computes with what the text defines, and tracing leaves it out"
                yield _objection(annotation, what, "Write the type alone")


def _left_annotations(skipped: Sequence[ast.stmt], made: Definitions) -> Iterator[Objection]:
    """In branches Python executes annotations as everywhere, and a class of the text may have a say in them."""
    own = {name for name, meanings in made.items() if not all(isinstance(one, _IMPORTING) for one in meanings)}
    for annotation in (one for statement in skipped for one in _annotated(statement)):
        computes = any(isinstance(node, (ast.Subscript, ast.BinOp)) for node in ast.walk(annotation))
        if computes and any(isinstance(node, ast.Name) and node.id in own for node in ast.walk(annotation)):
            what = "An annotation computes with what the text defines, and tracing leaves it out"
            yield _objection(annotation, what, f"Write the type alone, {ASIDE}")


def _only_names(annotation: ast.expr, kept: Definitions) -> bool:
    """Whether it is a constant, a name, or what stands behind dots in a module."""
    if not isinstance(annotation, ast.Attribute):
        return isinstance(annotation, (ast.Name, ast.Constant))
    root: ast.expr = annotation
    while isinstance(root, ast.Attribute):
        root = root.value
    own = kept.get(root.id, ()) if isinstance(root, ast.Name) else ()
    return isinstance(root, ast.Name) and all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in own)


def _of_others(annotation: ast.expr, kept: Definitions, absent: frozenset[str]) -> bool:
    """Whether it computes with builtins and imported names alone, and calls nothing; with absent ones it stays text."""
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    calls = any(isinstance(node, (ast.Call, *bindings.COMPREHENSIONS)) for node in ast.walk(annotation))
    parts = [node.value for node in ast.walk(annotation) if isinstance(node, ast.Subscript)]
    if names & absent and not all(isinstance(part, (ast.Name, ast.Attribute)) for part in parts):
        return False
    return not calls and all(_computes_nothing(one, kept) for name in names for one in kept.get(name, ()))


def _computes_nothing(statement: ast.stmt, kept: Definitions) -> bool:
    """An import, or a class without a say in how it is combined with other types."""
    if not isinstance(statement, ast.ClassDef):
        return isinstance(statement, (ast.Import, ast.ImportFrom))
    own = {node.name for node in statement.body if isinstance(node, ast.FunctionDef)}
    decorators = [part.func if isinstance(part, ast.Call) else part for part in statement.decorator_list]
    known = _imported(statement.bases, allowed.BASES, kept) and _imported(decorators, _DATACLASS, kept)
    return known and not statement.keywords and "__class_getitem__" not in own


def _imported(parts: Sequence[ast.expr], paths: frozenset[str], kept: Definitions) -> bool:
    """Whether each part is one of some objects of modules, by a name that means nothing else."""
    for part in parts:
        root = next((node.id for node in ast.walk(part) if isinstance(node, ast.Name)), "")
        meanings = kept.get(root, ())
        found = bindings.dotted(part, bindings.modules(meanings))
        if not (found and found <= paths and all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in meanings)):
            return False
    return True


def _names_itself(text: KernelText) -> Iterator[Objection]:
    """Where a main guard is trusted, nothing else may have a say in what the module is called."""
    guards = [one for one in text.skipped if isinstance(one, ast.If) and is_main(one.test)]
    if not guards:
        return
    inside = {id(node) for guard in guards for part in (guard.test, *guard.body) for node in ast.walk(part)}
    inside |= {id(name) for one in text.statements for name in _of_logger(one)}
    for statement in (*text.statements, *text.skipped):
        for node in ast.walk(statement):
            if id(node) not in inside and _may_name(node):
                yield _objection(
                    statement, "The text may change its own name, which its main guard asks", "Remove that"
                )


def _of_logger(statement: ast.stmt) -> Iterator[ast.expr]:
    """Where a logger has the module's name, which leaves it as it is."""
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr="getLogger"), args=[ast.Name(id="__name__") as name])):
            yield name
        case _:
            pass


def _may_name(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name in _NAMING
        case ast.Constant(value="__name__") | ast.keyword(arg="__name__"):
            return True
        case _:
            return False


def _annotated(statement: ast.stmt) -> Iterator[ast.expr]:
    for node in ast.walk(statement):
        for field in ("annotation", "returns"):
            annotation = getattr(node, field, None)
            if isinstance(annotation, ast.expr):
                yield annotation


def _loud(statement: ast.stmt, part: ast.AST) -> Objection:
    shown = ast.unparse(part).splitlines()[0][:60]
    what = f"What tracing leaves out may change the kernel by `{shown}` for whoever imports the text"
    return _objection(statement, what, f"Remove it, {ASIDE}")


def _changed(statement: ast.stmt, name: str) -> Objection:
    what = f"`{name}`, which the kernel uses, is changed by what tracing leaves out"
    return _objection(statement, what, f"Write it as plain assignments, {ASIDE}")


def _objection(node: ast.AST, what: str, remedy: str) -> Objection:
    return Objection(getattr(node, "lineno", 0), f"{what}. {remedy}.")
