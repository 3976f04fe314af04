"""The forms of Python that kernels are written in: plain functions, plain data, and classes of fields and methods.

Python has many ways to remember a call, to hand a call to somebody else, or to ask where it is run. Public kernels
(nki-samples, nki-library) do without nearly all of them, so that what they need can be told by its form.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from nki_anvil.lab import allowed, bindings, constants
from nki_anvil.lab.identity import KINDS

Message = tuple[int, str]

_ORDERLESS: Final = "A set has another order in every process"
_HOLDING: Final = (ast.In, ast.NotIn)
_INSTEAD: Final[Mapping[type[ast.AST], str]] = {
    ast.Try: "`try` is not available: a kernel that needs a fallback is two kernels. Remove it",
    ast.TryStar: "`try` is not available. Remove it",
    ast.Global: "`global` is not available. Pass the value as an argument",
    ast.Nonlocal: "`nonlocal` is not available. Return the value",
    ast.AsyncFunctionDef: "`async` is not available. Use a plain function",
    ast.AsyncFor: "`async` is not available. Use a plain loop",
    ast.AsyncWith: "`async` is not available. Use a plain block",
    ast.Await: "`await` is not available. Call the function plainly",
    ast.Yield: "A generator is not available in a kernel. Return a list",
    ast.YieldFrom: "A generator is not available in a kernel. Return a list",
    ast.Match: "`match` is not available in a kernel. Use `if`",
    ast.SetComp: f"{_ORDERLESS}. Write a tuple or a dictionary",
    ast.NamedExpr: "`:=` is not available in a kernel. Assign on a line of its own",
}
_BUILTINS: Final = allowed.BUILTINS - {"True", "False", "None", "Ellipsis"}
_FUNCTIONS: Final = allowed.words("abs all any len max min pow round sum int float bool")
"""Builtins that may be given away, for they tell nothing of what they are given but its value."""
_NOT_CALLED: Final = frozenset({"object", *(name for name in _BUILTINS if name.endswith(("Error", "Exception")))})
"""But to be raised."""
_CONSUMING: Final = allowed.words("list tuple dict len min max any all sorted enumerate zip reversed")
_ITERATING: Final = allowed.words("enumerate zip reversed")
_SETS: Final = allowed.words("set frozenset")
_LOOPS: Final = allowed.words("affine_range sequential_range static_range dynamic_range")
"""Of the language: one that is left open changes the trace when it is dropped."""
_VIEWS: Final = allowed.words("keys items")
"""Methods of dictionaries whose answers are of the kind of sets."""
_WRITING: Final = allowed.words("str repr print")
"""Builtins that call what objects of the text's own call themselves."""
_LAUNCH: Final = allowed.words("get_nc_version num_programs program_id program_ndim is_psum is_sbuf is_hbm is_on_chip")
_ASKING: Final = allowed.words("get items keys values index count startswith endswith lower upper strip split join")
"""Methods of Python's objects that change nothing."""
_OF_DTYPES: Final = allowed.words("issubdtype dtype finfo iinfo result_type promote_types")
_OF_DATACLASSES: Final = allowed.words("frozen init repr eq order slots kw_only")
"""What ``dataclass`` may be told: not how objects are found in a dictionary that change while they are there."""
_DEFINED: Final = (ast.FunctionDef, ast.ClassDef)
_TYPED: Final = allowed.words("typing typing_extensions")
_TYPING: Final = allowed.words("typing.cast typing.TYPE_CHECKING typing_extensions.TYPE_CHECKING")
"""What typing has that remembers nothing."""
_IN_CLASSES: Final = (ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass)
_KINDS_BY_NAME: Final = allowed.words("dtype default_factory")
"""Arguments that are types."""


def complaints(statements: Collection[ast.stmt], text: Sequence[ast.stmt]) -> Iterator[Message]:
    """Line and sentence of every form that kernels are not written in, in the statements of a text that count."""
    nodes = [node for one in statements for node in ast.walk(one)]
    bound = frozenset(name for node in nodes for name in bindings.binds(node))
    variables = frozenset(n for node in nodes if not isinstance(node, _DEFINED) for n in bindings.binds(node))
    attributes = bindings.attributes(statements)
    modules = bindings.modules(node for one in text for node in ast.walk(one))
    yield from _bound_twice(statements, text, modules)
    for statement in statements:
        reader = _Forms(bound, variables, attributes, modules)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and any(constants.names_of_a_set(statement)):
            reader.ask(statement.value)
        reader.visit(statement)
        yield from reader.found


def _bound_twice(
    statements: Collection[ast.stmt], text: Sequence[ast.stmt], modules: Mapping[str, frozenset[str]]
) -> Iterator[Message]:
    """What is imported, here or anywhere in the text, and something else as well: it would be read as the import.

    None in its place, where an import may fail, is nothing else.
    """
    nodes = [node for one in statements for node in ast.walk(one)]
    around = [node for node in bindings.in_scope(ast.Module([*text], [])) if not isinstance(node, ast.alias)]
    missing = {id(part) for node in around if _is_nothing(node) for part in ast.walk(node)}
    said: set[str] = set()
    for node in [*nodes, *around]:
        for name in () if isinstance(node, ast.alias) or id(node) in missing else bindings.binds(node):
            if name in modules and name not in said:
                said.add(name)
                yield (
                    getattr(node, "lineno", 0),
                    f"`{name}` is imported and something else as well. Rename one of them.",
                )


def _is_nothing(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None


class _Forms(ast.NodeVisitor):
    def __init__(
        self,
        bound: frozenset[str],
        variables: frozenset[str],
        attributes: frozenset[str],
        modules: Mapping[str, frozenset[str]],
    ) -> None:
        self.found: list[Message] = []
        self._bound, self._variables, self._attributes, self._modules = bound, variables, attributes, modules
        self._inside = False
        """Whether this is executed by a call."""
        self._placed: set[int] = set()
        """Nodes that stand where such a thing may stand: types beside types, iterators where they are used up."""
        self._asked: set[int] = set()

    def ask(self, held: ast.expr | None) -> None:
        """This may be a set: it is asked what it holds."""
        self._asked.add(id(held))

    def visit(self, node: ast.AST) -> Any:
        if type(node) in _INSTEAD:
            self._object(node, _INSTEAD[type(node)])
            return None
        return super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            if id(decorator) in self._placed:
                continue
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._is_there(called) and not self._all_paths(called, _is_of_language):
                self._object(decorator, "A decorator in a kernel is the language's. Call the function instead")
        for part in [*node.decorator_list, *bindings.defaults(node.args)]:
            self.visit(part)
        around, self._inside = self._inside, True
        for part in node.body:
            self.visit(part)
        self._inside = around

    def _is_there(self, decorator: ast.expr) -> bool:
        """Whether anything has the name that a decorator begins with; where nothing has, tracing says so better."""
        names = {part.id for part in ast.walk(decorator) if isinstance(part, ast.Name)}
        return not names or any(name in self._bound or name in self._modules or name in _BUILTINS for name in names)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Of fields, methods and text; its bases are ``kernel_reading``'s concern."""
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            given = decorator.keywords if isinstance(decorator, ast.Call) else []
            plain = all(isinstance(one.value, ast.Constant) and one.arg in _OF_DATACLASSES for one in given)
            if not (plain and self._all_paths(called, lambda path: path == "dataclasses.dataclass")):
                said = "A class has no decorator but `dataclass`, which is told whether it is frozen, and no hash"
                self._object(decorator, f"{said}. Write a plain class")
        for part in node.body:
            if not isinstance(part, _IN_CLASSES):
                self._object(part, "A class is made of fields and methods. Move this into a method")
            if isinstance(part, ast.FunctionDef):
                kinds = [one for one in part.decorator_list if isinstance(one, ast.Name) and self._is_method_kind(one)]
                self._placed.update(map(id, kinds))
            self.visit(part)

    def _is_method_kind(self, name: ast.Name) -> bool:
        return name.id == "staticmethod" and name.id not in self._bound

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Annotations are not executed by a call."""
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in [*bindings.defaults(node.args), node.body]:
            self.visit(part)

    def visit_For(self, node: ast.For) -> None:
        self._bound_in_turn(node.target)
        self._placed.add(id(node.iter))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._bound_in_turn(node.target)
        self._placed.add(id(node.iter))
        self.generic_visit(node)

    def _bound_in_turn(self, target: ast.expr) -> None:
        if any(isinstance(part, (ast.Attribute, ast.Subscript)) for part in ast.walk(target)):
            self._object(target, "A loop binds names. Assign in its body")

    def visit_Assign(self, node: ast.Assign) -> None:
        """What is unpacked is used up."""
        if all(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            self._placed.add(id(node.value))
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self._placed.add(id(node.value))
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.cause is not None:
            self._object(node, "`from` is not available behind `raise`. Leave it out")
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if raised is not None:
            self._placed.update((id(raised), id(node.exc)))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self._place_kinds([node.left, *node.comparators])
        for asks, side in zip(node.ops, node.comparators, strict=True):
            if isinstance(asks, _HOLDING):
                self._placed.add(id(side))
                self.ask(side)
        self.generic_visit(node)

    def visit_Set(self, node: ast.Set) -> None:
        if id(node) not in self._asked:
            self._object(node, f"{_ORDERLESS}. Write a tuple; `x in {{1, 2}}` asks for no order")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """What stands in the brackets of a type is a type."""
        if isinstance(node.value, ast.Name) and self._is_kind(node.value):
            self._placed.add(id(node.value))
            self._place_kinds([node.slice])
        elif self._all_paths(node.value, lambda path: path.partition(".")[0] in ("typing", "collections")):
            self._place_kinds([node.slice])
        self.generic_visit(node)

    def _place_kinds(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            match node:
                case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                    self._place_kinds(parts)
                case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                    self._place_kinds([left, right])
                case ast.Name() | ast.Attribute() | ast.Call(func=ast.Name(id="type")):
                    self._placed.add(id(node))
                case _:
                    pass

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, (ast.Mod, ast.MatMult)):
            self._object(node, "`%=` and `@=` are not available in a kernel. Write `a = a % b`")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.MatMult):
            said = "`@` sums in an order that threads decide. Let nki.isa multiply matrices, or write the constant out"
            self._object(node, said)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Without assertions, as ``python -O`` leaves them out, a kernel is the same."""
        for part in ast.walk(node.test):
            if isinstance(part, ast.Call) and not self._only_asks(part.func):
                said = f"An assertion may call builtins and ask for the launch. Call `{ast.unparse(part.func)}` before"
                self._object(node, said)
            if isinstance(part, ast.JoinedStr) or (isinstance(part, ast.keyword) and part.arg == "key"):
                self._object(node, "An assertion calls no function of the text. Write texts and keys on a line before")
        self.generic_visit(node)

    def _only_asks(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name) and called.id not in self._bound:
            return called.id in (_BUILTINS | allowed.BY_NAME | {"type"}) - _WRITING
        if self._all_paths(called, _records_nothing):
            return True
        return isinstance(called, ast.Attribute) and called.attr in _ASKING - self._attributes

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        if node.conversion != -1 and node.format_spec is not None:
            self._object(node, "A text is cut short by a format behind `!`. Leave one of them out")
        if node.format_spec is not None and any(map(_is_local, ast.walk(node.format_spec))):
            self._object(node, "The format `n` goes by the program's locale. Use `d` or `g`")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._told_by_name(node)
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[value, ast.Constant(value=str(name)), *_]):
                self.visit_Attribute(ast.copy_location(ast.Attribute(value, name, ast.Load()), node))
            case _:
                pass
        viewed = isinstance(node.func, ast.Attribute) and self._views(node, node.func)
        barred = (
            viewed or self._is_of_abc(node.func) or (isinstance(node.func, ast.Name) and node.func.id in _NOT_CALLED)
        )
        if not (barred or self._is_loop(node.func)) or id(node) in self._placed:
            self._placed.add(id(node.func))
        self._place_kinds(one.value for one in node.keywords if one.arg in _KINDS_BY_NAME)
        match node.func:
            case ast.Name(id="isinstance" | "issubclass") if len(node.args) > 1:
                self._place_kinds(node.args[1:])
            case ast.Name(id="sum"):
                self._placed.update(map(id, node.args[:1]))
            case ast.Name(id="min" | "max") if len(node.args) > 1:
                pass
            case ast.Name(id=name) if name in _CONSUMING:
                self._placed.update(map(id, node.args))
            case ast.Attribute(value=ast.Constant(value=str()), attr="join"):
                self._placed.update(map(id, node.args))
            case _:
                pass
        if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS & self._bound:
            self._object(node, f"`{node.func.id}` is Python's, and a name of the text as well. Rename your own")
        if self._iterates(node.func):
            self._placed.update(map(id, node.args))
            self._used_up(node, ast.unparse(node.func))
        self.generic_visit(node)

    def _told_by_name(self, node: ast.Call) -> None:
        """Of what a call is told by name, NumPy's functions could leave memory as it was found."""
        of_language = self._all_paths(node.func, _is_of_language)
        own = isinstance(node.func, ast.Name) and node.func.id in self._bound and node.func.id not in self._variables
        names = {keyword.arg for keyword in node.keywords}
        for keyword in node.keywords:
            if keyword.arg == "key" and not of_language and not self._is_seen(keyword.value):
                self._object(node, "`key` is a `lambda` or a function of your own. Write one")
        if None in names and not (own or of_language):
            self._object(node, "`**` is for functions of your own and the language's. Write the arguments out")
        if "where" in names and not of_language:
            self._object(node, "`where` leaves memory as it was found. Use `np.where`")
        if self._all_paths(node.func, lambda path: path.partition(".")[0] == "numpy"):
            for name in sorted(one for one in names - allowed.OF_NUMPY if one is not None):
                self._object(node, f"`{name}` is not available with NumPy in a kernel. Leave it out")

    def _is_seen(self, function: ast.expr) -> bool:
        own = isinstance(function, ast.Name) and function.id in self._bound | _FUNCTIONS
        return own or isinstance(function, ast.Lambda)

    def _iterates(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name) and called.id in _ITERATING:
            return True
        return self._all_paths(called, lambda path: path.partition(".")[0] == "itertools")

    def _is_of_abc(self, node: ast.expr) -> bool:
        return any(path.startswith("collections.abc.") for path in bindings.dotted(node, self._modules))

    def _is_loop(self, node: ast.expr) -> bool:
        return any(path.rpartition(".")[2] in _LOOPS for path in bindings.dotted(node, self._modules))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._used_up(node, "A generator")
        self.generic_visit(node)

    def _views(self, call: ast.Call, method: ast.Attribute) -> bool:
        """Whether it asks a dictionary for what is of the kind of sets: a field of that name is not called."""
        if method.attr in _VIEWS and id(call) not in self._placed:
            self._used_up(call, method.attr)
            self._placed.add(id(method))
        return method.attr in _VIEWS

    def _used_up(self, node: ast.expr, what: str) -> None:
        """An iterator that is held remembers how far it has come."""
        if id(node) not in self._placed:
            shown = what if what[0] == "A" else f"`{what}`"
            self._object(node, f"{shown} stands in a loop, or where a list is made of it. Write `list(...)` around it")

    def visit_Name(self, node: ast.Name) -> None:
        self._reached(node)
        if not isinstance(node.ctx, ast.Load) or node.id not in _BUILTINS - _FUNCTIONS:
            return
        if node.id in _SETS:
            self._object(node, f"{_ORDERLESS}. Write a tuple or a dictionary")
        if node.id in self._bound:
            self._object(node, f"`{node.id}` is Python's, and a name of the text as well. Rename your own")
        elif id(node) not in self._placed:
            self._object(node, f"`{node.id}` can be called, and not be given away. Write a function of your own")

    def _reached(self, node: ast.expr) -> None:
        """What of modules has its places. Typing keeps the forms that it has made: which of two equal ones was asked
        for first can be told."""
        if self._is_loop(node):
            self._used_up(node, ast.unparse(node))
        if self._is_of_abc(node) and id(node) not in self._placed:
            self._object(node, f"`{ast.unparse(node)}` stands beside types. Write out what it does")
        paths = bindings.dotted(node, self._modules)
        named = [path.partition(".") for path in paths if path not in _TYPING]
        if self._inside and any(top in _TYPED and dot for top, dot, _ in named):
            self._object(node, f"`{ast.unparse(node)}` stands in annotations. Remove it from what is executed")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._reached(node)
        if node.attr in _VIEWS - self._attributes:  # a class of the text may have a field of that name
            self._used_up(node, node.attr)
        if node.attr in allowed.UNSEEN - self._attributes and not self._all_paths(node, _is_given):
            self._object(node, f"The attribute `{node.attr}` is not available in a kernel. Remove it")
        self.generic_visit(node)

    def _is_kind(self, node: ast.Name) -> bool:
        return node.id in KINDS and node.id not in self._bound

    def _all_paths(self, node: ast.AST, holds: Callable[[str], bool]) -> bool:
        """Whether a name or what stands behind its dots leads into modules, and only to what holds."""
        paths = bindings.dotted(node, self._modules)
        return bool(paths) and all(map(holds, paths))

    def _object(self, node: ast.AST, message: str) -> None:
        self.found.append((getattr(node, "lineno", 0), message + "."))


def _is_local(part: ast.AST) -> bool:
    return isinstance(part, ast.Constant) and str(part.value).endswith("n")


def _records_nothing(path: str) -> bool:
    """What asks for the launch, a region, a number or a dtype. Instructions would be left out with their assertion, and
    so would what functions of arrays write where they are told to."""
    top, _, rest = path.partition(".")
    return top == "math" or (top == "numpy" and rest in _OF_DTYPES) or path.rpartition(".")[2] in _LAUNCH


def _is_of_language(path: str) -> bool:
    return path.partition(".")[0] in allowed.LANGUAGE


def _is_given(path: str) -> bool:
    """By the language, or by NumPy itself: `np.outer` is no method of one of its functions."""
    top, _, rest = path.partition(".")
    return _is_of_language(path) or (top == "numpy" and rest in (allowed.MODULES[top] or ()))
