"""Statements at a text's top level that leave everything else in it as it is, told by their form alone.

What is left out when a kernel is traced must be quiet, for whoever imports the text executes it; what is executed and
not quiet is read like the kernel itself. The forms are few, and nothing in them goes through anything, writes into
anything, or calls what the text defines: whatever this module does not know stands under the main guard.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from nki_anvil.lab import bindings, harmless, scopes
from nki_anvil.lab.allowed import SPECIAL

Definitions = Mapping[str, Sequence[ast.stmt]]

_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_COMPUTED: Final = (
    ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Subscript, ast.Slice,
)  # fmt: skip


def needed_and_loud(
    statements: Sequence[ast.stmt], defined: Definitions, first: Iterable[str]
) -> tuple[frozenset[str], list[ast.stmt]]:
    """Every global name that the first ones need, or that loud statements need or bind; and those statements."""
    quiet = Quiet(defined)
    loud = [one for one in statements if any(quiet.loud(one))]
    more = {name for one in loud for name in (*scopes.names(one).asked, *bindings.bound(one))}
    return closed({*first, *more}, defined), loud


def closed(names: Iterable[str], defined: Definitions) -> frozenset[str]:
    """These names and all that they need."""
    found = set(names)
    waiting = list(found)
    while waiting:
        for statement in defined.get(waiting.pop(), ()):
            waiting += (more := scopes.names(statement).asked - found)
            found |= more
    return frozenset(found)


class Quiet:
    """Judges statements of one text by what its names mean."""

    def __init__(self, defined: Definitions) -> None:
        self._defined = defined
        modules = bindings.modules(one for meanings in defined.values() for one in meanings)
        self._modules = {name: modules[name] for name in modules if self._is_always(name, _IMPORTS)}
        """Names that stand for what is imported, and nothing else."""
        self._loggers = {name for name in defined if self._is_always(name, ast.Assign) and self._are_loggers(name)}
        self._plain = set(defined)
        """Names that stand for a number, a text, a part of the language, or what is made of these."""
        self._reduce(self._plain, self._binds_plain)

    def loud(self, statement: ast.stmt) -> Iterator[ast.AST]:
        """The parts of a statement for which it is not quiet."""
        if any(map(_is_special, bindings.bound(statement))):
            yield statement
        match statement:
            case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call() as call):
                yield from self._called(call)
            case ast.Assert(test=test, msg=message):
                yield from self._values([test, message])
            case ast.Assign(targets=targets, value=value):
                yield from (one for one in targets if not _is_names(one))
                yield from () if self._is_logger(value) else self._bound(value)
            case ast.AnnAssign(target=ast.Name(), value=value, annotation=annotation):
                yield from (*_calls(annotation), *self._bound(value))
            case _:
                yield from self._compound(statement)

    def _compound(self, statement: ast.stmt) -> Iterator[ast.AST]:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(statement)
            case ast.ClassDef():
                yield from self._class(statement)
            case ast.If(test=test, body=body, orelse=orelse):
                yield from self._value(test)
                yield from self._all([*body, *orelse])
            case ast.Try(finalbody=[]):
                yield from self._tried(statement)
            case _:
                yield statement

    # what statements are made of

    def _all(self, statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
        for statement in statements:
            yield from self.loud(statement)

    def _tried(self, statement: ast.Try) -> Iterator[ast.AST]:
        yield from self._all([*statement.body, *statement.orelse])
        for handler in statement.handlers:
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            yield from (kind for kind in kinds if kind is not None and not self._is_exception(kind))
            yield from self._all(handler.body)

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
        """Decorators, defaults, and annotations that call something."""
        yield from (one for one in function.decorator_list if not self._is_decorator(one))
        kinds = [
            one for one in function.decorator_list if isinstance(one, ast.Name) and one.id in harmless.METHOD_KINDS
        ]
        yield from kinds[1:]  # a class calls the property of a class method by itself
        yield from (call for part in bindings.annotated(function) for call in _calls(part))
        yield from self._values(bindings.defaults(function.args))

    def _class(self, statement: ast.ClassDef) -> Iterator[ast.AST]:
        """Making it calls none of its methods: of its bases that is known, and what it holds is plain."""
        yield from (keyword.value for keyword in statement.keywords)
        yield from (base for base in statement.bases if not self._is_base(base))
        yield from (one for one in statement.decorator_list if not self._is_decorator(one))
        for part in statement.body:
            match part:
                case ast.FunctionDef():
                    yield from self._function(part)
                case ast.Assign() | ast.AnnAssign() | ast.Pass() | ast.Expr(value=ast.Constant()):
                    yield from self.loud(part)
                case _:
                    yield part

    def _called(self, call: ast.Call) -> Iterator[ast.AST]:
        """A call that is a statement: it prints, or sets what kernels do not ask for."""
        if isinstance(call.func, ast.Name) and call.func.id == "print" and "print" not in self._defined:
            yield from self._values(call.args)
            yield from (one.value for one in call.keywords if not self._says_how_to_print(one))
        elif not self._is_setting(call):
            yield call.func

    def _says_how_to_print(self, keyword: ast.keyword) -> bool:
        if keyword.arg == "file":
            paths = self._dotted(keyword.value)
            return bool(paths) and paths <= harmless.STREAMS
        return keyword.arg in harmless.PRINTING and isinstance(keyword.value, ast.Constant)

    def _is_setting(self, call: ast.Call) -> bool:
        """Whether it is told literal values alone, and by name nothing but what is known."""
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr="setLevel") if name in self._loggers:
                named: frozenset[str] | None = frozenset()
            case _:
                paths = self._dotted(call.func)
                named = harmless.SETTINGS.get(next(iter(paths)), None) if len(paths) == 1 else None
        if named is None or not {one.arg for one in call.keywords} <= named:
            return False
        return all(map(self._is_literal, _given(call)))

    def _is_literal(self, node: ast.expr) -> bool:
        """A number, a text, a level of logging, a kind of warning, or a tuple of these."""
        match node:
            case ast.Constant():
                return True
            case ast.UnaryOp(operand=operand):
                return self._is_literal(operand)
            case ast.Tuple(elts=parts):
                return all(map(self._is_literal, parts))
            case _:
                return self._is_exception(node) or (bool(self._dotted(node)) and not any(self._value(node)))

    # values

    def _bound(self, value: ast.expr | None) -> Iterator[ast.AST]:
        """What a name is given: a value, or a function that nothing here calls."""
        return self._values(bindings.defaults(value.args)) if isinstance(value, ast.Lambda) else self._value(value)

    def _values(self, nodes: Iterable[ast.expr | None]) -> Iterator[ast.AST]:
        for node in nodes:
            yield from self._value(node)

    def _value(self, node: ast.expr | None) -> Iterator[ast.AST]:
        match node:
            case None:
                pass
            case ast.Name(id=name) if name in self._plain:
                pass
            case ast.Name() | ast.Attribute():
                paths = self._dotted(node)
                yield from () if paths and all(map(harmless.is_constant, paths)) else (node,)
            case ast.Call(func=called, args=given, keywords=named):
                yield from () if self._only_computes(called) else (called,)
                yield from self._values(given)
                yield from (one.value for one in named if not (one.arg and isinstance(one.value, ast.Constant)))
            case _ if isinstance(node, _COMPUTED):
                yield from self._values(part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
            case _:
                yield node

    def _only_computes(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name) and called.id not in self._defined:
            return called.id in harmless.BUILTINS
        paths = self._dotted(called)
        return bool(paths) and paths <= harmless.ASKING

    # what names stand for

    def _is_always(self, name: str, kinds: type[ast.stmt] | tuple[type[ast.stmt], ...]) -> bool:
        meanings = self._defined.get(name, ())
        return bool(meanings) and all(isinstance(one, kinds) for one in meanings)

    def _are_loggers(self, name: str) -> bool:
        return all(isinstance(one, ast.Assign) and self._is_logger(one.value) for one in self._defined[name])

    def _is_logger(self, value: ast.expr) -> bool:
        match value:
            case ast.Call(func=called, args=[] | [ast.Constant() | ast.Name(id="__name__")], keywords=[]):
                return self._dotted(called) == frozenset({"logging.getLogger"})
            case _:
                return False

    def _reduce(self, names: set[str], holds: Callable[[str, ast.stmt], bool]) -> None:
        """Leave those all of whose meanings hold, which may rest on each other: each is asked again when one falls."""
        asking: dict[str, list[str]] = defaultdict(list)
        for name in names:
            for asked in {asked for one in self._defined[name] for asked in scopes.names(one).asked}:
                asking[asked].append(name)
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in names and not all(holds(name, one) for one in self._defined[name]):
                names.discard(name)
                waiting += asking[name]

    def _binds_plain(self, name: str, statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(targets=targets, value=value):
                return all(map(_is_names, targets)) and not any(self._value(value))
            case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value):
                return not any(self._value(value))
            case ast.If() | ast.Try():
                parts = [part for part in _branches(statement) if name in bindings.bound(part)]
                return bool(parts) and all(self._binds_plain(name, part) for part in parts)
            case _:
                return False

    def _is_exception(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id not in self._defined and node.id in harmless.EXCEPTIONS

    def _is_base(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name) and node.id == "object":
            return "object" not in self._defined
        paths = self._dotted(node)
        return self._is_exception(node) or (bool(paths) and paths <= harmless.BASES)

    def _is_decorator(self, node: ast.expr) -> bool:
        """Whether it calls nothing of what it is given, and is told plain values alone."""
        called = node.func if isinstance(node, ast.Call) else node
        if isinstance(called, ast.Name) and called.id in harmless.METHOD_KINDS - self._defined.keys():
            return called is node
        paths = self._dotted(called)
        if not paths or not all(map(harmless.is_decorator, paths)):
            return False
        given = _given(node) if isinstance(node, ast.Call) else []
        asked = _conditions(node) if paths & harmless.EXECUTING else []
        return all(map(_is_truth, asked)) and not any(loud for one in given for loud in self._parameter(one))

    def _parameter(self, node: ast.expr) -> Iterator[ast.AST]:
        """What of a value that a decorator is told is more: pytest has parameters with marks of their own."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                yield from (loud for part in parts for loud in self._parameter(part))
            case ast.Call() if self._dotted(node.func) == frozenset({"pytest.param"}):
                yield from (loud for part in _given(node) for loud in self._parameter(part))
            case _:
                yield from () if self._is_decorator(node) or self._is_exception(node) else self._value(node)

    def _dotted(self, node: ast.AST) -> frozenset[str]:
        """The paths of what stands behind an imported name; none where it is anything else."""
        return bindings.dotted(node, self._modules)


def _is_special(name: str) -> bool:
    """Whether Python itself asks a module for it."""
    return name.startswith("__") and name.endswith("__") and name not in SPECIAL


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _conditions(decorator: ast.expr) -> list[ast.expr]:
    """All that a mark is told but for its reason and the like."""
    if not isinstance(decorator, ast.Call):
        return []
    return [*decorator.args, *(one.value for one in decorator.keywords if one.arg in ("condition", None))]


def _is_truth(node: ast.expr) -> bool:
    """Whether a condition is true or false, and no text that pytest would execute."""
    match node:
        case ast.Constant(value=bool()) | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=parts):
            return all(map(_is_truth, parts))
        case _:
            return False


def _branches(statement: ast.If | ast.Try) -> Iterator[ast.stmt]:
    """What is executed by it; a name that a handler binds is gone behind it."""
    yield from (*statement.body, *statement.orelse)
    if isinstance(statement, ast.Try):
        yield from (one for handler in statement.handlers for one in handler.body)


def _is_names(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_names, target.elts))
    return isinstance(target, ast.Name)


def _calls(annotation: ast.expr) -> Iterator[ast.AST]:
    """A framework that reads annotations executes what they call."""
    return (part for part in ast.walk(annotation) if isinstance(part, ast.Call))
