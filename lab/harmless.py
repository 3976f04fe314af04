"""Whether what importing a text executes can leave the kernel as it is: an allow-list of what it mentions.

A statement may mention what the kernel does not reach, plain values, and parts of modules. Everything that it mentions
is followed through the text's own functions, classes and variables; whatever is not known to be harmless is not.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from nki_anvil.lab import bindings, scopes
from nki_anvil.lab.allowed import words
from nki_anvil.lab.changing import Definitions

_LANGUAGE: Final = words("nki neuronxcc")
_STANDARD: Final = words("""
    os time math random json logging argparse warnings pathlib datetime typing collections itertools dataclasses enum
    abc statistics string textwrap fractions decimal
""")
"""Modules of Python by which nothing of the kernel can be reached."""
_BUILTINS: Final = words("""
    print len range sum min max sorted str repr list tuple dict set frozenset enumerate zip isinstance any all int
    float bool abs round divmod pow reversed format map filter iter next slice bytes complex hash ord chr hex bin
    Exception ValueError TypeError KeyError IndexError RuntimeError AssertionError ImportError ModuleNotFoundError
    AttributeError NotImplementedError StopIteration ZeroDivisionError OSError FileNotFoundError NotImplemented Ellipsis
""")
_PLAIN_CALLS: Final = words("int float bool str len min max abs round sum pow range divmod")
_BUILTIN_NAMES: Final = frozenset(dir(builtins))


class Harmless:
    """Judges statements of one text; ``needed`` is every global name that its entry function reaches."""

    def __init__(self, needed: frozenset[str], defined: Definitions) -> None:
        self._needed, self._defined = needed, defined
        reached = {_root_module(one, name) for name in needed for one in defined.get(name, ()) if _is_import(one)}
        self._shared = reached | _LANGUAGE

    def offence(self, parts: Iterable[ast.AST]) -> str | None:
        """The first name, or attribute, in what is executed by which the kernel may change; None where none may."""
        waiting, seen = [*parts], set[int]()
        while waiting:
            code = waiting.pop()
            if id(code) in seen:
                continue
            seen.add(id(code))
            if behind := next(_private(code), None) or next(self._stored(code), None):
                return behind
            for name in sorted(scopes.names(_as_statement(code)).asked):
                if not self._is_harmless(name, code):
                    return name
                waiting += [one for one in self._defined.get(name, ()) if not _is_import(one)]
        return None

    def _stored(self, code: ast.AST) -> Iterator[str]:
        """Roots of what is stored into, unless they are the text's own variables, or the environment."""
        for node in ast.walk(code):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                root: ast.AST = node
                while isinstance(root, (ast.Attribute, ast.Subscript)):
                    root = root.value
                name = root.id if isinstance(root, ast.Name) else "*"
                meanings = self._defined.get(name, ())
                own = bool(meanings) and not any(map(_is_import, meanings)) and not self.is_plain(name)
                if not own and ast.unparse(node).partition("[")[0] != "os.environ":
                    yield name

    def _is_harmless(self, name: str, code: ast.AST) -> bool:
        meanings = self._defined.get(name, ())
        if not meanings:
            return name not in _BUILTIN_NAMES or name in _BUILTINS
        if self.is_plain(name):
            return True
        if not all(map(_is_import, meanings)):
            return name not in self._needed
        return all(self._is_harmless_module(name, _root_module(one, name), code) for one in meanings)

    def _is_harmless_module(self, name: str, module: str, code: ast.AST) -> bool:
        if module in self._shared:
            return _only_parts(name, code) and not (module in _LANGUAGE and _calls(name, code))
        return module not in sys.stdlib_module_names or module in _STANDARD

    def is_plain(self, name: str) -> bool:
        """Whether it stands for a number, a text, a part of the language, or a tuple of these, and nothing else."""
        meanings = self._defined.get(name, ())
        return bool(meanings) and all(self._is_plain_statement(one, {name}) for one in meanings)

    def _is_plain_statement(self, statement: ast.stmt, names: set[str]) -> bool:
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or statement.value is None:
            return False
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return all(isinstance(one, ast.Name) for one in targets) and self._is_value(statement.value, names)

    def _is_value(self, node: ast.expr, names: set[str]) -> bool:
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                more = {*names, name}
                meanings = self._defined.get(name, ())
                return name in names or (bool(meanings) and all(self._is_plain_statement(o, more) for o in meanings))
            case ast.Attribute():
                return self._is_part_of_language(node)
            case ast.UnaryOp(operand=operand):
                return self._is_value(operand, names)
            case ast.BinOp(left=left, right=right):
                return self._is_value(left, names) and self._is_value(right, names)
            case ast.Compare(left=left, comparators=others):
                return all(self._is_value(one, names) for one in (left, *others))
            case ast.IfExp(test=test, body=body, orelse=other):
                return all(self._is_value(one, names) for one in (test, body, other))
            case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
                return all(self._is_value(one, names) for one in parts)
            case ast.Call(func=ast.Name(id=function), args=given, keywords=[]):
                known = function in _PLAIN_CALLS and function not in self._defined
                return known and all(self._is_value(one, names) for one in given)
            case _:
                return False

    def _is_part_of_language(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        meanings = self._defined.get(node.id, ()) if isinstance(node, ast.Name) else ()
        modules = {_root_module(one, node.id) if _is_import(one) else "" for one in meanings}  # type: ignore[union-attr]
        return bool(modules) and modules <= _LANGUAGE | {"math", "numpy"}


def _as_statement(code: ast.AST) -> ast.stmt:
    if isinstance(code, ast.stmt):
        return code
    assert isinstance(code, ast.expr)
    return ast.copy_location(ast.Expr(code), code)


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _root_module(statement: ast.stmt, name: str) -> str:
    """Of the import that gives this name its meaning."""
    return next(iter(bindings.modules([statement]).get(name, ("",)))).partition(".")[0]


def _private(code: ast.AST) -> Iterator[str]:
    """Attributes by which Python reaches behind everything."""
    for node in ast.walk(code):
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            yield node.attr


def _only_parts(name: str, code: ast.AST) -> bool:
    """Whether a module is mentioned only for parts of it that are read."""
    parents = {id(child): node for node in ast.walk(code) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(code):
        if isinstance(node, ast.Name) and node.id == name:
            above = parents.get(id(node))
            if not isinstance(above, ast.Attribute):
                return False
            while isinstance(above, (ast.Attribute, ast.Subscript)):
                if not isinstance(above.ctx, ast.Load):
                    return False
                above = parents.get(id(above))
    return True


def _calls(name: str, code: ast.AST) -> bool:
    """Whether a part of a module is called, or handed over by its name in a call of another."""
    for node in ast.walk(code):
        if isinstance(node, ast.Call):
            root: ast.AST = node.func
            while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id == name:
                return True
    return False
