"""Reads a kernel's syntax tree against the allow-list: what it names, stores and asks for, never its text.

Only what the entry function can reach counts; tests and scripts in the same file are nobody's concern, unless somebody
imports the file as it is.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from nki_anvil.backends.worker.absent import needing
from nki_anvil.backends.worker.kernel_text import KernelText
from nki_anvil.lab import allowed, asked_names, bindings, by_name, constants, dialects, dotted_paths, forms, quiet
from nki_anvil.lab.identity import KINDS, Unique

ASIDE: Final = 'or move it under `if __name__ == "__main__":`'
"""The cure for whatever a kernel does without."""
_BUILTIN_NAMES: Final = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that a kernel may not do, with its line and what to write instead."""

    line: int
    message: str


def objections(text: KernelText, entry: str, *, imported: bool = False, inputs: Sequence[str] = ()) -> list[Objection]:
    """Everything that is wrong with what ``entry``, which takes ``inputs``, reaches, by line.

    With all of the text where it is ``imported`` into somebody's program: that runs every statement, and annotations.
    """
    defined = bindings.definitions(text.statements)
    modules = bindings.modules(text.statements)
    private = frozenset(name for name in bindings.attributes(text.statements) if name.startswith("_"))
    unique = Unique(text.statements, modules)
    found: list[Objection] = []
    names, loud = reached(text, entry)
    kernels = [one for name in (entry, *names) for one in defined.get(name, ())]
    found += [Objection(*said) for said in by_name.complaints(kernels, entry, inputs)]
    waiting = [*defined[entry], *defined["*"], *(text.statements if imported else loud)]
    absent = frozenset(text.absent)
    left = [one for one in text.skipped if not isinstance(one, ast.If) or not is_main(one.test)]
    missing = needing([*text.statements, *text.skipped], text.absent).union(*map(bindings.bound, left))
    read: dict[int, ast.stmt] = {}
    while waiting:
        statement = waiting.pop()
        if id(statement) not in read:
            read[id(statement)] = statement
            reader = _Reader(modules, frozenset(defined), private, imported, absent, missing, unique)
            reader.visit(statement)
            found += reader.found
            waiting += [one for name in reader.reached for one in defined[name]]
    found += [Objection(*said) for said in dialects.complaints(read.values(), modules)]
    found += _of_builtins([*text.statements, *importing(text.skipped)])
    found += [Objection(*said) for said in forms.complaints(read.values(), text.statements)]
    found += [Objection(*said) for said in constants.complaints([*read.values()], modules)]
    needed = quiet.closed({entry}, defined)
    beside = [] if imported else [one for one in loud if bindings.bound(one).isdisjoint(needed)]
    return sorted(set(_cured(found, beside)), key=lambda objection: objection.line)


def _cured(found: Iterable[Objection], beside: Sequence[ast.stmt]) -> Iterator[Objection]:
    """Of what is wrong with a statement that the kernel does without the first, with the place where nothing is."""
    told: set[int] = set()
    for one in found:
        line = next((at.lineno for at in beside if _first_line(at) <= one.line <= (at.end_lineno or at.lineno)), None)
        if line is None:
            yield one
        elif line not in told:
            told.add(line)
            yield Objection(one.line, f"{one.message.rstrip('.')}, {ASIDE}.")


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _of_builtins(statements: Sequence[ast.stmt]) -> Iterator[Objection]:
    """Names that mean one thing to a trace, and another wherever the text is imported."""
    for name, meanings in bindings.definitions(statements).items():
        if name in allowed.BUILTINS:
            line = min(one.lineno for one in meanings)
            yield Objection(line, f"`{name}` is Python's, and a name of the text as well. Rename your own.")


def reached(text: KernelText, entry: str) -> tuple[frozenset[str], list[ast.stmt]]:
    """Every global name that the kernel hangs on, and the statements beside it whose form does not say what they do."""
    everything = bindings.definitions([*text.statements, *importing(text.skipped)])
    return quiet.needed_and_loud(text.statements, everything, {entry})


def importing(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """What an import of these executes: of the main guard only its other branch."""
    for statement in statements:
        if isinstance(statement, ast.If) and is_main(statement.test):
            yield from statement.orelse
        else:
            yield statement


def is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case ast.Compare(left=ast.Constant(value="__main__"), ops=[ast.Eq()], comparators=[ast.Name(id="__name__")]):
            return True
        case _:
            return False


class _Reader(ast.NodeVisitor):
    """One top-level definition."""

    def __init__(
        self,
        modules: Mapping[str, frozenset[str]],
        defined: frozenset[str],
        private: frozenset[str],
        imported: bool,
        absent: frozenset[str],
        missing: frozenset[str],
        unique: Unique,
    ) -> None:
        self.found: list[Objection] = []
        self.reached: list[str] = []
        self._modules = dict(modules)
        self._defined = defined
        self._private = private
        self._imported = imported
        self._absent = absent
        """Names of modules that are left out: what stands for them answers no question as they would."""
        self._missing = missing
        """The same, and names of what cannot be made without them."""
        self._unique = unique
        self._called: set[int] = set()
        """Nodes that are called."""
        self._local: frozenset[str] = frozenset()
        self._scopes: tuple[frozenset[str], ...] = ()
        """What the functions around bind."""
        self._in_place: set[int] = set()
        """Nodes that stand where alone such a thing may stand."""
        self._methods: set[int] = set()
        """Functions that stand in a class."""
        self._selves = False
        """Whether ``self`` is what a method was given."""

    def visit(self, node: ast.AST) -> Any:
        if not self._local and isinstance(node, ast.stmt):
            self._local = frozenset(bindings.stored(node))
            for name, paths in bindings.modules(ast.walk(node)).items():
                self._modules[name] = self._modules.get(name, frozenset()) | paths
        if isinstance(node, bindings.COMPREHENSIONS):
            return self._comprehension(node)
        for name in bindings.binds(node):
            if _is_special(name) and not self._is_special_method(node):
                self._object(node, f"`{name}` means something to Python or to libraries. Rename or remove it")
        return super().visit(node)

    def _is_special_method(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.FunctionDef) or id(node) not in self._methods:
            return False
        return node.name in allowed.METHODS and not node.decorator_list

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._defined and not self._is_bound(node.id):
            self.reached.append(node.id)
        if isinstance(node.ctx, ast.Store):
            return
        paths = self._modules.get(node.id, frozenset())
        if refused := self._refused(node.id, called=id(node) in self._called):
            self._object(node, refused)
        elif not paths.isdisjoint(allowed.GIVEN_WHOLE):
            self._object(node, f"`{node.id}` is a module, which cannot be given away. Write its member behind a dot")
        elif node.id in allowed.FORBIDDEN and not self._is_bound(node.id):
            self._object(node, f"`{node.id}` is not available in a kernel. Remove it, or rename what is your own")
        elif self._imported and node.id in allowed.SPEAKING:
            self._object(node, f"`{node.id}` is not available where figures are read from what is printed. Remove it")
        elif paths:
            self._members(node, paths)
        elif self._is_bound(node.id):
            return
        elif node.id in _BUILTIN_NAMES and node.id not in allowed.BUILTINS:
            self._object(node, f"`{node.id}` is not available in a kernel. Remove it, or rename what is your own")

    def _is_bound(self, name: str) -> bool:
        """Whether a function around binds it, so that it is no global and no builtin."""
        return any(name in scope for scope in self._scopes)

    def _is_builtin(self, name: str) -> bool:
        """Whether it means what it does to Python wherever the text says it."""
        return not self._is_bound(name) and name not in self._defined | self._local

    def _is_kind(self, side: ast.expr) -> bool:
        """Whether one side of a comparison is a type of Python's, the language's or the text's own, or several.

        What anything else is compared with is given away: to its ``__eq__``, or to its ``__contains__``.
        """
        match side:
            case ast.Tuple(elts=kinds) | ast.List(elts=kinds) | ast.Set(elts=kinds):
                return all(map(self._is_kind, kinds))
            case ast.Call(func=ast.Name(id="type"), args=[_], keywords=[]) | ast.Attribute(attr="type"):
                return True
            case ast.Name(id=name) if self._unique.is_class(name):
                return True
            case ast.Name(id=name) if name in KINDS and self._is_builtin(name):
                return True
            case ast.Constant(value=None):
                return True
            case _:
                return bool(bindings.dotted(side, self._modules))

    def _refused(self, name: str, *, called: bool) -> str:
        """Why nobody may ask for a name, whatever it stands for; empty where that depends."""
        if name in allowed.NEVER:
            return f"`{name}` is not available in a kernel, also as a name of your own. Rename or remove it"
        if name == "print" and not called:
            return "`print` can be called, and not be given away. Remove it"
        if name in self._absent and not self._is_bound(name):
            return f"`{name}` is not there when a kernel is traced. Remove it"
        if name.startswith("__") and not name.endswith("__"):
            return f"`{name}` has another name inside of a class. Begin it with one underscore"
        special = _is_special(name) and name not in self._local
        return f"`{name}` is another wherever the text is run. Remove it" if special else ""

    def visit_Call(self, node: ast.Call) -> None:
        self._called.add(id(node.func))
        for name in (keyword.arg or "" for keyword in node.keywords):
            if name == "module":
                self._object(node, "`module` says that something is another's. Leave it out")
            if name.startswith("__"):
                self._object(node, f"`{name}` means something to Python or to libraries. Rename or remove it")
        match node:
            case ast.Call(func=ast.Name(id="type"), args=[argument], keywords=[]) if id(node) in self._in_place:
                self.visit(argument)
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "str" | "repr" | "print" as name)):
                self._put(node.args if self._is_builtin(name) else ())
                self.generic_visit(node)
            case ast.Call(func=ast.Name(id=name)) if name in allowed.BY_NAME:
                self._named_attribute(node, name)
            case _:
                self.generic_visit(node)

    def _named_attribute(self, node: ast.Call, function: str) -> None:
        match node.args:
            case [ast.Name(id=name), *_] if name in allowed.BUILTINS and self._is_builtin(name):
                self._object(node, f"`{function}` of Python's `{name}` tells nothing of a kernel. Remove it")
            case [_, ast.Constant(value=str() as attribute), *_] if not attribute.isidentifier():
                self._object(node, f"`{function}` asks for what is no name. Remove it")
            case [value, ast.Constant(value=str()), *_] if not self._is_of_language(value):
                self._object(node, f"`{function}` of a module tells versions of Python apart. Write what it has")
            case [value, ast.Constant(value=str() as attribute), *rest]:
                asked = ast.copy_location(ast.Attribute(value, attribute, ast.Load()), node)
                for path in bindings.dotted(asked, self._modules):
                    if not asked_names.is_answered(path):
                        self._object(node, f"`{path}` tells NKI and its simulator apart by `{function}`. Remove it")
                self.visit(asked)
                for argument in rest:
                    self.visit(argument)
            case _:
                self._object(node, f"`{function}` needs a literal name here. Write the attribute behind a dot")

    def _is_of_language(self, node: ast.expr) -> bool:
        """Whether it is none of Python's modules, nor behind one."""
        return all(path.partition(".")[0] in allowed.LANGUAGE for path in bindings.dotted(node, self._modules))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if _is_forbidden(node.attr):
            self._object(node, f"The attribute `{node.attr}` is not available in a kernel. Remove it")
        elif node.attr.startswith("_") and node.attr not in self._private:
            self._object(node, f"The attribute `{node.attr}` is private to others. Use what is public")
        elif _is_special(node.attr) or node.attr in allowed.NAMING:
            self._object(node, f"`{node.attr}` means something to Python or to libraries. Rename or remove it")
        elif not isinstance(node.ctx, ast.Load) and not (self._selves and _is_self(node.value)):
            self._object(
                node, f"`{ast.unparse(node)}` is set: only a method's `self` has attributes to set. Use a variable"
            )
        elif node.attr in ("format", "format_map") and not (_plain_template(node.value) and id(node) in self._called):
            self._object(node, "`format` on a text that is not a plain literal is not available. Use an f-string")
        elif node.attr == "type" and not {id(node)} & (self._called | self._in_place):
            self._object(node, "`type` of a dtype can be called or compared, and not be given away. Call it")
        elif self._imported and node.attr in allowed.SPEAKING:
            self._object(node, f"`{node.attr}` is not available where figures are read from what is printed. Remove it")
        if paths := bindings.dotted(node, self._modules):
            self._members(node, paths)
        else:
            self.visit(node.value)

    def _members(self, node: ast.AST, paths: Iterable[str]) -> None:
        for path in paths:
            if complaint := dotted_paths.complaint(path):
                self._object(node, complaint)
            elif not isinstance(node, ast.expr):
                continue
            elif path in allowed.GIVEN_WHOLE:
                self._object(node, f"`{path}` is a module, which cannot be given away. Write its member behind a dot")
            elif path in allowed.MAKERS and id(node) not in self._in_place:
                self._object(node, f"`{path}` may stand only as {allowed.MAKERS[path]}. Write out the class")

    def _put(self, nodes: Iterable[ast.AST]) -> None:
        """These stand in their place."""
        self._in_place.update(map(id, nodes))

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        if all(map(self._is_kind, sides)):
            self._put([part for side in sides for part in _parts(side)])
        if not self._unique.suffices(node, self._modules):
            self._object(node, "`is` tells which copy of an equal value is held. Compare by `==`")
        self.generic_visit(node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self._put([node.value])
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A docstring has no effect."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._members(node, [alias.name])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            self._object(node, "A kernel is one file: a relative import has nothing to refer to. Copy what you need")
            return
        for alias in node.names:
            if alias.name == "*":
                self._object(node, f"`from {node.module} import *` hides what is used. Name what you import")
            elif _is_forbidden(alias.name):
                self._object(node, f"`{alias.name}` is not available in a kernel. Remove it")
            self._members(node, [f"{node.module}.{alias.name}"])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Annotations are evaluated where the text is imported alone."""
        for part in [
            *node.decorator_list,
            *bindings.defaults(node.args),
            *bindings.type_parameters(node),
            *(bindings.annotated(node) if self._imported else ()),
        ]:
            self.visit(part)
        around = self._selves
        if "self" in bindings.own(node):
            self._selves = id(node) in self._methods and not node.decorator_list and bindings.is_given_self(node)
        self._inside(bindings.own(node), node.body)
        self._selves = around

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in bindings.defaults(node.args):
            self.visit(part)
        self._inside(bindings.own(node), [node.body])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        """What the first loop is over belongs to the scope around."""
        first, *others = node.generators
        self.visit(first.iter)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        targets = [part for loop in node.generators for part in (loop.target, *loop.ifs)]
        bound = frozenset(name for loop in node.generators for name in bindings.stored(loop.target))
        self._inside(bound, [*parts, *targets, *(loop.iter for loop in others)])

    def _inside(self, bound: frozenset[str], body: Iterable[ast.AST]) -> None:
        """Read a function's body, in which a name that it binds is never the builtin's."""
        around, self._scopes = self._scopes, (*self._scopes, bound)
        for part in body:
            self.visit(part)
        self._scopes = around

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)
        if self._imported:
            self.visit(node.annotation)
        is_text = isinstance(node.annotation, ast.Constant) or "annotations" in self._modules
        first = _first_dotted(node.annotation)
        paths = self._paths_of(first)
        if is_text and any(path.rpartition(".")[2] in allowed.NO_FIELDS for path in paths or {first}):
            self._object(node, "What is no field of a dataclass has no text for an annotation. Write it without one")
        name = first.partition(".")[0]
        if is_text and name in self._defined - self._modules.keys() and not self._unique.is_class(name):
            self._object(node, f"`{name}` is bound anew, and a text names it as an annotation. Write it without one")
        if name in self._missing and not (paths and paths <= allowed.TYPES_ABSENT):
            self._object(node, f"`{name}` is not there when a kernel is traced, and says what a field is. Remove it")

    def _paths_of(self, dotted: str) -> frozenset[str]:
        """Where a name and what stands behind its dots lead."""
        name, dot, rest = dotted.partition(".")
        return frozenset(path + dot + rest for path in self._modules.get(name, ()))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A name that a class binds is the builtin's before, whatever the functions around it bind."""
        if node.keywords:
            self._object(node, "A class with a metaclass or other keywords is not available. Write a plain class")
        if any(isinstance(part, (ast.Import, ast.ImportFrom)) for part in bindings.in_scope(node)):
            self._object(node, "An import in a class gives its module away. Write it at the top of the file")
        decorators = [part.func if isinstance(part, ast.Call) else part for part in node.decorator_list]
        self._put(part for part in decorators if bindings.dotted(part, self._modules))
        for base in node.bases:
            if not self._is_base(base):
                said = f"A class is not derived from `{ast.unparse(base)}` in a kernel. Write fields and methods out"
                self._object(node, said)
        if any(map(_is_member, node.body)):
            self._put(node.bases)
        for part in [*node.decorator_list, *node.bases, *bindings.type_parameters(node)]:
            self.visit(part)
        self._methods.update(map(id, node.body))
        bound = frozenset(bindings.stored(node))
        around, selves = self._scopes, self._selves
        self._scopes, self._selves = tuple(scope - bound for scope in around), False
        for part in node.body:
            self.visit(part)
        self._scopes, self._selves = around, selves

    def _is_base(self, base: ast.expr) -> bool:
        if isinstance(base, ast.Name) and base.id == "object":
            return self._is_builtin("object")
        paths = bindings.dotted(base, self._modules)
        return bool(paths) and paths <= allowed.BASES

    def _object(self, node: ast.AST, message: str) -> None:
        self.found.append(Objection(getattr(node, "lineno", 0), message + "."))


def _is_member(statement: ast.stmt) -> bool:
    """Whether it makes an enumeration one with a member, which cannot be called to make another."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
            return not name.startswith("_")
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Name(id="auto") | ast.Attribute(value=ast.Name(id="enum"), attr="auto"), args=[]),
        ):
            return not name.startswith("_")
        case _:
            return False


def _first_dotted(annotation: ast.expr) -> str:
    """The words that an annotation begins with, by which dataclasses tell from a text what is no field."""
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    found = re.match(r"\s*(\w+(?:\s*\.\s*\w+)*)", str(text))
    return re.sub(r"\s", "", found[1]) if found else ""


def _parts(side: ast.expr) -> list[ast.expr]:
    """A type, or each of several."""
    return side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]


def _is_forbidden(name: str) -> bool:
    """Whether Python code reaches others by it, behind a dot or by an import."""
    return name.startswith(allowed.FORBIDDEN_PREFIXES) or name in allowed.FORBIDDEN_ATTRIBUTES


def _is_special(name: str) -> bool:
    """Whether a name means something to Python, as ``__name__`` does, or to enumerations, as ``_name_`` does."""
    return name[0] == name[-1] == "_" and name.strip("_") != "" and name not in allowed.SPECIAL


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _plain_template(node: ast.expr) -> bool:
    """A literal whose fields are bare names or numbers, written in ways that are no fields themselves."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    try:
        fields = [(name or "", way or "", turned) for _, name, way, turned in Formatter().parse(node.value)]
    except ValueError:
        return False
    return not any(
        "." in name or "[" in name or "{" in way or way.endswith("n") or (way and turned)
        for name, way, turned in fields
    )
