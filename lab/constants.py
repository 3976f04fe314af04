"""What a text holds from call to call: nothing that a call could change.

Names of the whole text stand for numbers, texts, tuples, functions, parts of the language, frozen dataclasses; or for a
list or a dictionary of such that is only read where it stands. So do defaults and what classes hold. Then no call can
remember another, whatever it was called with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from nki_anvil.lab import allowed, bindings

Message = tuple[int, str]

_PURE: Final = allowed.words("""
    int float bool str len min max abs round sum pow any all divmod tuple frozenset range isinstance repr
""")
"""Builtins that make what cannot be changed, also of a display."""
_HANDING_ON: Final = allowed.words("min max sum")
"""Builtins that return what they are given, but where that is a single thing to go through."""
_TABLES: Final = allowed.words("list dict set sorted")
_SPLITTING: Final = (".split", ".rsplit", ".splitlines")
"""Methods of texts, which names of dtypes are, that make lists."""
_READING: Final = allowed.words("len list tuple dict set frozenset sorted min max sum any all enumerate zip reversed")
_ASKING: Final = allowed.words("get items keys values index count copy")
"""Methods of lists and dictionaries that change nothing."""
_GOING: Final = allowed.words("enumerate zip reversed sorted list")
_PLAIN_MODULES: Final = allowed.words("math typing typing_extensions ml_dtypes")
_NUMBERS: Final = allowed.words("""
    dtype finfo iinfo bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 result_type
    promote_types issubdtype
""")
"""Members of NumPy that make no array."""
_TOP: Final = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.If, ast.Pass,
               ast.Assert, ast.Expr)  # fmt: skip
_SCHEDULED: Final = "with_schedule"
"""A kernel's method that returns a kernel and keeps nothing."""
_SIMPLE: Final = (ast.Constant, ast.Name, ast.JoinedStr)
_COMPOSED: Final = (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.Starred)
_MUTABLE: Final = "Write a tuple, or make it inside of the function"


def complaints(statements: Sequence[ast.stmt], modules: Mapping[str, frozenset[str]]) -> Iterator[Message]:
    """Line and sentence of whatever in these top-level statements could be changed by a call, and be found by another.

    ``modules`` are the names that lead into modules.
    """
    reader = _Constants(statements, modules)
    for statement in statements:
        yield from reader.top(statement)
    for statement in statements:
        yield from reader.inside(statement)


class _Constants:
    def __init__(self, statements: Sequence[ast.stmt], modules: Mapping[str, frozenset[str]]) -> None:
        self._modules = modules
        nodes = [node for one in statements for node in ast.walk(one)]
        self._classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        self._methods = frozenset(
            part.name
            for one in self._classes.values()
            for part in one.body
            if isinstance(part, ast.FunctionDef) and not _is_static(part)
        )
        self._members = frozenset(
            name for one in self._classes.values() for part in one.body for name in bindings.bound(part)
        )
        self._lasting = frozenset(name for name, one in self._classes.items() if any(map(self._is_of_enum, one.bases)))
        """Classes whose objects are there from call to call."""
        self._top = frozenset(name for one in statements for name in bindings.bound(one))
        self._sets = frozenset(name for one in statements for name in names_of_a_set(one))
        self._tables: set[str] = set()
        while len(self._tables) != self._collect(statements):
            """A table may be made of one that is bound below."""

    def _collect(self, statements: Iterable[ast.stmt]) -> int:
        """Note the names that stand for tables, in whatever order they are bound; returns how many are known."""
        for statement in statements:
            match statement:
                case ast.Assign(targets=targets, value=value) if self._is_table(value):
                    self._tables.update(name.id for name in targets if isinstance(name, ast.Name))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if self._is_table(value):
                    self._tables.add(name)
                case ast.If(body=body, orelse=orelse):
                    self._collect([*body, *orelse])
                case _:
                    pass
        return len(self._tables)

    def _is_of_enum(self, base: ast.expr) -> bool:
        return any(path.startswith("enum.") for path in bindings.dotted(base, self._modules))

    def top(self, statement: ast.stmt) -> Iterator[Message]:
        """A statement that is executed once."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                yield from self._bound(statement, targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from self._bound(statement, [target], value)
            case ast.AugAssign(target=ast.Name(), value=value) if self._is_fixed(value):
                pass
            case ast.If(body=body, orelse=orelse):
                for part in (*body, *orelse):
                    yield from self.top(part)
            case _ if not isinstance(statement, _TOP):
                yield statement.lineno, "A statement of the whole text binds names. Move this into a function."
            case _:
                pass

    def _bound(self, statement: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> Iterator[Message]:
        names = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
        if not all(isinstance(name, ast.Name) for name in names):
            yield statement.lineno, "A statement of the whole text binds names. Move this into a function."
        elif not (self._is_table(value) and len(targets) == len(names)) and not self._is_fixed(value):
            shown = ast.unparse(value).splitlines()[0][:60]
            yield (
                statement.lineno,
                f"`{shown}` could be changed by a call, and the next one would find that. {_MUTABLE}.",
            )

    def _is_table(self, value: ast.expr) -> bool:
        match value:
            case ast.List(elts=parts) | ast.Set(elts=parts):
                return all(map(self._is_fixed, parts))
            case ast.Dict(keys=keys, values=values):
                return all(key is None or self._is_fixed(key) for key in keys) and all(map(self._is_fixed, values))
            case ast.ListComp(elt=made, generators=loops) | ast.SetComp(elt=made, generators=loops):
                return self._is_fixed(made) and self._are_over_fixed(loops)
            case ast.DictComp(key=key, value=made, generators=loops):
                return self._is_fixed(key) and self._is_fixed(made) and self._are_over_fixed(loops)
            case ast.Call(func=ast.Name(id=name), args=given, keywords=named) if name in _TABLES:
                return all(map(self._is_read, given)) and all(self._is_fixed(one.value) for one in named)
            case _:
                return False

    def _is_fixed(self, value: ast.expr) -> bool:
        """Whether it makes what nobody can change."""
        match value:
            case ast.Name(id=name):
                return name not in self._tables
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice()):
                return name not in self._tables
            case ast.Subscript(value=inner) if self._is_of_numpy(inner):  # an array, though it be of one number
                return False
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return self._is_fixed(inner) or isinstance(inner, ast.Name)
            case ast.Lambda(args=arguments):
                return all(map(self._is_fixed, bindings.defaults(arguments)))
            case ast.Call():
                return self._makes_fixed(value)
            case _ if isinstance(value, _SIMPLE):
                return True
            case _ if isinstance(value, _COMPOSED):
                return all(self._is_fixed(part) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))
            case _:
                return False

    def _makes_fixed(self, call: ast.Call) -> bool:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        match call.func:
            case ast.Name(id=name) if name in _PURE and name not in self._modules:
                one = len(given) == 1 and not call.keywords
                return all(map(self._is_read if one or name not in _HANDING_ON else self._is_fixed, given))
            case ast.Name(id="slice"):  # which holds what it is given
                return all(map(self._is_fixed, given))
            case ast.Attribute(value=ast.Name(), attr=attribute) if attribute == _SCHEDULED:
                return attribute not in self._members and len(given) == 1 and self._is_read(given[0])
            case ast.Attribute(value=inner, attr="item"):
                return not given and self._is_of_numpy(inner) and self._is_fixed(inner)
            case ast.Name(id=name) if name in self._classes:
                return self._is_frozen(self._classes[name]) and all(map(self._is_fixed, given))
            case _:
                paths = bindings.dotted(call.func, self._modules)
                return bool(paths) and all(self._path_makes_fixed(path, given) for path in paths)

    def _is_of_numpy(self, value: ast.expr) -> bool:
        """Whether it is what a member of NumPy returns, or what that has."""
        while isinstance(value, ast.Attribute) and not bindings.dotted(value, self._modules):
            value = value.value
        made = value.func if isinstance(value, ast.Call) else value
        return any(path.startswith("numpy.") for path in bindings.dotted(made, self._modules))

    def _is_read(self, given: ast.expr) -> bool:
        """Whether a builtin may be given this, and keeps nothing of it."""
        match given:
            case ast.Name():
                return True
            case ast.GeneratorExp(elt=made, generators=loops):
                return self._is_fixed(made) and self._are_over_fixed(loops)
            case ast.Call(func=ast.Name(id=name), args=inner, keywords=[]) if name in _GOING:
                return all(map(self._is_read, inner))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items" | "keys" | "values"), args=[]):
                return name in self._tables
            case _:
                return self._is_fixed(given) or self._is_table(given)

    def _are_over_fixed(self, loops: Sequence[ast.comprehension]) -> bool:
        return all(self._is_read(loop.iter) for loop in loops)

    def _path_makes_fixed(self, path: str, given: Sequence[ast.expr]) -> bool:
        top, _, rest = path.partition(".")
        if top in allowed.LANGUAGE:
            return not rest.endswith(_SPLITTING) and all(map(self._is_fixed, given))
        if top in _PLAIN_MODULES:
            return all(map(self._is_fixed, given))
        if top == "numpy":
            return rest in _NUMBERS
        return path in ("enum.auto", "operator.add") and all(map(self._is_fixed, given))

    def _is_frozen(self, one: ast.ClassDef) -> bool:
        """A frozen dataclass or an enumeration, whose fields no factory fills."""
        if any(isinstance(node, ast.keyword) and node.arg == "default_factory" for node in ast.walk(one)):
            return False
        paths = {path for base in one.bases for path in bindings.dotted(base, self._modules)}
        if any(path.startswith("enum.") for path in paths):
            return not any(
                isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) for node in ast.walk(one)
            )
        return any(
            part.arg == "frozen" and _is_true(part.value)
            for decorator in one.decorator_list
            for part in (decorator.keywords if isinstance(decorator, ast.Call) else ())
        )

    def inside(self, statement: ast.stmt) -> Iterator[Message]:
        """What functions and classes hold, and how what the whole text holds is asked for."""
        above: dict[int, ast.AST] = {
            id(part): node for node in ast.walk(statement) for part in ast.iter_child_nodes(node)
        }
        yield from self._set(statement)
        for node in ast.walk(statement):
            match node:
                case ast.FunctionDef(args=arguments) | ast.Lambda(args=arguments):
                    for default in bindings.defaults(arguments):
                        if not self._is_fixed(default):
                            yield default.lineno, f"A default is made once, and could be changed. {_MUTABLE}."
                case ast.ClassDef():
                    yield from self._class(node)
                case ast.Name(ctx=ast.Load()):
                    yield from self._asked(node, above)
                case _:
                    pass

    def _asked(self, node: ast.Name, above: Mapping[int, ast.AST]) -> Iterator[Message]:
        """A name of the whole text where it is read."""
        name = node.id
        if name in self._sets and not _is_asked_for_members(node, above.get(id(node))):
            yield node.lineno, f"`{name}` has another order in every process. Ask it by `in`, or write a tuple."
        elif name in self._tables and not _is_read(node, above):
            yield node.lineno, f"`{name}` could be changed here, and the next call would find that. {_READ}."
        elif name in self._classes and not self._is_class_in_place(node, above):
            yield node.lineno, f"The class `{name}` can be called, and not be given away. Call it."

    def _set(self, statement: ast.stmt) -> Iterator[Message]:
        """Places of what is there from call to call."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and _root(node) in self._top:
                yield node.lineno, f"`{ast.unparse(node)[:60]}` is set, and the next call would find that. {_MUTABLE}."

    def _class(self, one: ast.ClassDef) -> Iterator[Message]:
        for part in one.body:
            value = part.value if isinstance(part, (ast.Assign, ast.AnnAssign)) else None
            if value is not None and not self._is_fixed(value) and not self._is_field(value):
                yield part.lineno, f"`{one.name}` holds what could be changed by a call. Set it in `__init__`."
        methods = {part.name for part in one.body if isinstance(part, ast.FunctionDef)}
        for node in _in_class_body(one):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in methods:
                yield (
                    node.lineno,
                    f"A method has one name, and one object. Write `{one.name}` without `{node.id}` here.",
                )
        if one.name in self._lasting:
            if not (len(one.bases) == 1 and self._is_of_enum(one.bases[0])):
                yield (
                    one.lineno,
                    f"`{one.name}` has members, and is derived from more. Derive it from `enum.Enum` alone.",
                )
            for node in ast.walk(one):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    yield node.lineno, f"Members of `{one.name}` are there from call to call. Return the value."

    def _is_field(self, value: ast.expr) -> bool:
        """What a field is where nobody sets it: fixed, or made each time."""
        if not isinstance(value, ast.Call) or bindings.dotted(value.func, self._modules) != _FIELD or value.args:
            return False
        return all(
            part.arg in _MADE_EACH_TIME or (part.arg in _OF_FIELDS and self._is_fixed(part.value))
            for part in value.keywords
        )

    def _is_class_in_place(self, node: ast.Name, above: Mapping[int, ast.AST]) -> bool:
        """Called, beside types, or asked for what it holds and not for what its objects do."""
        parent = above.get(id(node))
        if node.id in self._lasting and _is_read(node, above):  # an enumeration's members
            return True
        match parent:
            case ast.Attribute(attr=asked):
                return asked not in self._methods
            case ast.Call(func=called, args=given):
                return called is node or (isinstance(called, ast.Name) and called.id in _TYPED and given[:1] != [node])
            case ast.keyword(arg="default_factory"):
                caller = above.get(id(parent))
                return isinstance(caller, ast.Call) and bindings.dotted(caller.func, self._modules) == _FIELD
            case ast.ClassDef() | ast.Compare() | ast.Raise():
                return True
            case ast.Tuple() | ast.BinOp(op=ast.BitOr()):
                return _is_beside_types(parent, above)
            case _:
                return _is_annotation(node, above)


_TYPED: Final = allowed.words("isinstance issubclass")
_FIELD: Final = frozenset({"dataclasses.field"})
_MADE_EACH_TIME: Final = ("default_factory",)
_OF_FIELDS: Final = allowed.words("default init repr kw_only")
"""What a field may be told besides: not what it is compared and found by."""
_READ: Final = "Read it by index, in a loop or by `in`, or write a tuple"


def _is_read(node: ast.Name, above: Mapping[int, ast.AST]) -> bool:
    """Whether a list or dictionary is only read where it stands."""
    parent = above.get(id(node))
    match parent:
        case ast.Subscript(value=read, ctx=ast.Load()):
            return read is node
        case ast.Starred() | ast.comprehension() | ast.FormattedValue():
            return True
        case ast.For(iter=read):
            return read is node
        case ast.Compare() if _is_asked_for_members(node, parent):
            return True
        case ast.Call(func=ast.Name(id=name), args=given, keywords=named):
            return name in _READING and not (name in _HANDING_ON and (len(given) > 1 or named))
        case ast.Attribute(attr=asked):
            caller = above.get(id(parent))
            return asked in _ASKING and isinstance(caller, ast.Call) and caller.func is parent
        case ast.Dict(keys=keys, values=values):
            return any(key is None and value is node for key, value in zip(keys, values, strict=True))
        case ast.BinOp(op=ast.Add()) | ast.keyword(arg=None):
            return True
        case _:
            return False


def _is_asked_for_members(node: ast.Name, parent: ast.AST | None) -> bool:
    match parent:
        case ast.Compare(comparators=[*_, last], ops=[*_, ast.In() | ast.NotIn()]):
            return last is node
        case _:
            return False


def names_of_a_set(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of the whole text gives to a set; they are asked by ``in`` alone."""
    match statement:
        case ast.Assign(targets=targets, value=ast.Set()):
            yield from (one.id for one in targets if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Set()):
            yield name
        case _:
            pass


def _is_beside_types(node: ast.AST, above: Mapping[int, ast.AST]) -> bool:
    parent = above.get(id(node))
    if isinstance(parent, ast.BinOp):
        return _is_beside_types(parent, above)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _TYPED
    return isinstance(parent, ast.Compare) or _is_annotation(node, above)


def _is_annotation(node: ast.AST, above: Mapping[int, ast.AST]) -> bool:
    """Whether it stands in one, or in the brackets of a type."""
    while (parent := above.get(id(node))) is not None:
        match parent:
            case ast.arg() | ast.FunctionDef() if node is getattr(
                parent, "annotation", getattr(parent, "returns", None)
            ):
                return True
            case ast.AnnAssign(annotation=annotation):
                return node is annotation
            case ast.Subscript() | ast.Tuple() | ast.BinOp(op=ast.BitOr()):
                node = parent
            case _:
                return False
    return False


def _in_class_body(one: ast.ClassDef) -> Iterator[ast.AST]:
    """What a class executes while it is made: not the bodies of its methods, but their defaults and decorators."""
    for part in one.body:
        made = [*bindings.defaults(part.args), *part.decorator_list] if isinstance(part, ast.FunctionDef) else [part]
        yield from (node for each in made for node in ast.walk(each))


def _root(place: ast.expr) -> str:
    """The name that a place is found by."""
    while isinstance(place, (ast.Subscript, ast.Attribute)):
        place = place.value
    return place.id if isinstance(place, ast.Name) else ""


def _is_static(function: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True
