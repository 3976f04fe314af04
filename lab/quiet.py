"""Statements at a text's top level that leave everything else in it as it is, told by their form alone.

What is left out when a kernel is traced must be quiet, for whoever imports the text executes it; what is executed and
not quiet is read like the kernel itself. Whatever this module does not know the form of is not quiet.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from nki_anvil.backends.worker import kernel_text
from nki_anvil.backends.worker.importing import CHIP
from nki_anvil.lab import allowed, bindings, scopes
from nki_anvil.lab.allowed import words

Definitions = Mapping[str, Sequence[ast.stmt]]

_KNOWN: Final = words("""
    time.time time.perf_counter time.monotonic os.getenv os.environ.get os.environ.setdefault os.path.join
    os.path.dirname os.path.abspath os.path.basename os.path.exists random.seed json.dumps logging.getLogger
    logging.basicConfig warnings.filterwarnings warnings.simplefilter argparse.ArgumentParser datetime.datetime.now
    numpy.random.default_rng numpy.random.seed numpy.random.rand numpy.random.randn numpy.random.randint
    numpy.random.random numpy.random.normal numpy.random.uniform numpy.random.standard_normal
    numpy.testing.assert_allclose numpy.testing.assert_array_equal numpy.testing.assert_equal
    numpy.testing.assert_array_almost_equal numpy.allclose numpy.isclose numpy.array_equal
""") | {f"math.{name}" for name in dir(math)}
"""Functions of Python and NumPy that change nothing of a text, nor the files of anybody."""
_SETTINGS: Final = words("level format datefmt force")
"""What logging may be told: not where to write."""
_STORES: Final = ("os.environ",)
_UNFAIR: Final = (
    allowed.FORBIDDEN_ATTRIBUTES | allowed.EVALUATING | (sys.stdlib_module_names - {"random"})
    | words("np nki neuronxcc setattr delattr setitem delitem patch MonkeyPatch monkeypatch")
)  # fmt: skip
"""Modules stand behind others that have imported them for themselves; others' tools set what is in modules."""
_PLAIN_CALLS: Final = words("int float bool str len min max abs round sum pow range divmod")
"""Builtins that return numbers or texts."""
_CALLS: Final = _PLAIN_CALLS | words(
    "list tuple dict set frozenset sorted reversed enumerate zip isinstance repr any all"
)
_HOW: Final = words("reverse default start strict sep end flush")
"""What builtins take by name that is not called."""
_DECORATORS: Final = words("""
    functools.wraps functools.cache functools.lru_cache contextlib.contextmanager dataclasses.dataclass
    abc.abstractmethod
""")
"""Decorators of Python's own that do not call what they are given."""
_SPELLED: Final = re.compile(rf"\b({'|'.join(sorted({*kernel_text.MODULES, 'builtins', 'sys'}))})\.\w")
"""A text that names something in a module which a kernel may use."""
_HARMLESS: Final = words("""
    torch.manual_seed torch.zeros torch.ones torch.full torch.empty torch.rand torch.randn torch.randint torch.arange
    torch.linspace torch.eye torch.tensor torch.as_tensor torch.from_numpy torch.zeros_like torch.ones_like
    torch.device torch.no_grad torch.inference_mode torch.compile torch.allclose torch.equal torch.softmax torch.matmul
    torch.Tensor torch.dtype torch.nn torch.testing torch.cuda.is_available torch.cuda.manual_seed
    torch_xla.device torch_xla.core.xla_model.xla_device torch_neuronx.trace torch_neuronx.DataParallel
    jax.random jax.numpy.zeros jax.numpy.ones jax.numpy.full jax.numpy.arange jax.numpy.array jax.numpy.asarray
    jax.numpy.linspace jax.numpy.eye jax.numpy.allclose jax.jit jax.devices jax.default_backend jax.Array jax.device_put
    pytest.mark pytest.fixture pytest.param pytest.approx pytest.raises pytest.skip pytest.importorskip
""")
"""Members of frameworks that change nothing for anybody else: no settings of the process, no files, no texts that are
executed. What other members do, and other libraries, nobody knows: they stand under the main guard."""
_IS_DTYPE: Final = re.compile(r"(torch|jax)\.(numpy\.)?(b?float|u?int|bool|complex|long|half|double)\w*")
_WORDS: Final = re.compile(r"(?!.*\b(?:for|lambda|import|del)\b)[\w\s.,:/|\[\]+-]*")
"""A text that nobody can execute to any effect: it calls and assigns nothing."""
_SETS: Final = "os.environ.setdefault"
"""As a store into it does: a name in pieces may be that of the chip."""
_OF_MODULES: Final = words("__name__ __file__ __doc__")
_METHODS: Final = words("property staticmethod classmethod")
_EXPRESSIONS: Final = (
    ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Subscript, ast.Slice, ast.Starred,
)  # fmt: skip
_MAKING: Final = (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.Constant, ast.BinOp, ast.Call)
_HANDING_ON: Final = words("min max sum pow round")
"""Builtins that may return what they are given."""
_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_ASSIGNMENTS: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign)


def needed_and_loud(
    statements: Sequence[ast.stmt], defined: Definitions, first: Iterable[str]
) -> tuple[frozenset[str], list[ast.stmt]]:
    """Every global name that the first ones need, or that loud statements need or bind; and those statements."""
    needed = _closed(first, defined)
    while True:
        quiet = Quiet(needed, defined)
        loud = [one for one in statements if next(quiet.loud(one), None) is not None]
        more = {name for one in loud for name in (*scopes.names(one).asked, *bindings.bound(one))}
        if more <= needed:
            return needed, loud
        needed = _closed(needed | more, defined)


def _closed(names: Iterable[str], defined: Definitions) -> frozenset[str]:
    found = set(names)
    waiting = list(found)
    while waiting:
        for statement in defined.get(waiting.pop(), ()):
            waiting += (more := scopes.names(statement).asked - found)
            found |= more
    return frozenset(found)


class Quiet:
    """Judges statements of one text; ``needed`` is every global name that its kernel hangs on."""

    def __init__(self, needed: frozenset[str], defined: Definitions) -> None:
        self._needed, self._defined = needed, defined
        modules = bindings.modules(one for meanings in defined.values() for one in meanings)
        imported = {n for n, meanings in defined.items() if all(isinstance(one, _IMPORTS) for one in meanings)}
        self._modules = {name: paths for name, paths in modules.items() if name in imported}
        self._plain = set(defined)
        """Names that stand for a number, a text, a part of the language, or a tuple of these, and nothing else."""
        self._reduce(self._plain, self._binds_plain)
        self._given = defined.keys() - self._apart()
        """Names that may stand for a part of the language, or of Python's modules, that is no number."""
        self._aside = defined.keys() - needed
        """Names that stand for a list or the like that only quiet statements have made and nothing needs."""
        self._reduce(self._aside, self._makes_aside)

    def _reduce(self, names: set[str], holds: Callable[[ast.stmt], bool]) -> None:
        """Leave those all of whose meanings hold, which may rest on each other: each is asked again when one falls."""
        asking: dict[str, list[str]] = defaultdict(list)
        for name in names:
            for asked in {asked for one in self._defined[name] for asked in scopes.names(one).asked}:
                asking[asked].append(name)
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in names and not all(map(holds, self._defined[name])):
                names.discard(name)
                waiting += asking[name]

    def loud(self, statement: ast.stmt) -> Iterator[ast.AST]:
        """The parts of a statement for which it is not quiet."""
        match statement:
            case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call) if "print" not in self._defined:
                yield from self._arguments(call)
            case ast.Expr(value=ast.Call() as call):
                yield from self._value(call)
            case ast.Assert(test=test, msg=message):
                yield from self._values([test, message])
            case ast.Assign(targets=targets, value=value):
                yield from self._stores(targets, value)
            case ast.AnnAssign(target=target, value=value, annotation=annotation):
                yield from _computed(annotation)
                yield from self._stores([target], value)
            case ast.AugAssign(target=target, value=value):
                yield from self._stores([target], value)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from (one for part in bindings.annotated(statement) for one in _computed(part))
                yield from (one for one in statement.decorator_list if not self._is_decorator(one))
                yield from self._values(bindings.defaults(statement.args))
            case ast.ClassDef():
                yield from self._class(statement)
            case _:
                yield from self._compound(statement)

    def _compound(self, statement: ast.stmt) -> Iterator[ast.AST]:
        match statement:
            case ast.For(target=target, iter=value):
                yield from self._stores([target], value)
                yield from self._all([*statement.body, *statement.orelse])
            case ast.If(test=test):
                yield from self._value(test)
                yield from self._all([*statement.body, *statement.orelse])
            case ast.Try(finalbody=[]):
                yield from self._tried(statement)
            case _:
                yield statement

    def _all(self, statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
        for statement in statements:
            yield from self.loud(statement)

    def _tried(self, statement: ast.Try) -> Iterator[ast.AST]:
        yield from self._all([*statement.body, *statement.orelse])
        for handler in statement.handlers:
            if handler.type is not None and not self._is_exception(handler.type):
                yield handler.type
            yield from self._all(handler.body)

    def _is_exception(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple):
            return all(map(self._is_exception, node.elts))
        named = (
            getattr(builtins, node.id, None) if isinstance(node, ast.Name) and node.id not in self._defined else None
        )
        return isinstance(named, type) and issubclass(named, BaseException)

    def _class(self, statement: ast.ClassDef) -> Iterator[ast.AST]:
        """Making it calls none of its methods: its bases are others', it is a plain class or a dataclass."""
        yield from (keyword.value for keyword in statement.keywords)
        yield from (base for base in statement.bases if not self._is_of_absent(base))
        for decorator in statement.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._paths(called) != frozenset({"dataclasses.dataclass"}):
                yield decorator
            elif isinstance(decorator, ast.Call):
                yield from self._arguments(decorator)
        for part in statement.body:
            match part:
                case ast.FunctionDef(decorator_list=[ast.Name(id=name)]) if name in _METHODS - self._defined.keys():
                    yield from self._values(bindings.defaults(part.args))
                case ast.FunctionDef() | ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.Pass():
                    yield from self.loud(part)
                case _:
                    yield part

    def _stores(self, targets: Iterable[ast.expr], value: ast.expr | None) -> Iterator[ast.AST]:
        """Names may be bound, and places in what is the text's own and not needed, or in what is absent."""
        yield from self._values(bindings.defaults(value.args)) if isinstance(value, ast.Lambda) else self._value(value)
        for target in targets:
            match target:
                case ast.Name():
                    pass
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    yield from self._stores(parts, None)
                case ast.Subscript(value=holder, slice=place):
                    yield from self._value(place)
                    if self._dotted(holder) and not isinstance(place, ast.Constant):
                        yield place
                    own = isinstance(holder, ast.Name) and holder.id in self._aside
                    if not own and (self._dotted(holder) or {""}) - set(_STORES):
                        yield target
                case _:
                    yield target

    def _values(self, nodes: Iterable[ast.expr | None]) -> Iterator[ast.AST]:
        for node in nodes:
            yield from self._value(node)

    def _value(self, node: ast.expr | None) -> Iterator[ast.AST]:
        match node:
            case None:
                pass
            case ast.Constant(value=str() as text) if text.startswith(CHIP):
                yield node
            case ast.Name(id=name):
                yield from () if self._is_value(name) else (node,)
            case ast.Attribute():
                yield from () if self._paths(node) or self._is_of_aside(node) else (node,)
            case ast.Call(func=called):
                yield from () if self._is_callable(called, node) and self._says_what_it_sets(node) else (called,)
                yield from self._arguments(node)
            case ast.ListComp(elt=made, generators=loops) | ast.GeneratorExp(elt=made, generators=loops):
                yield from self._comprehension([made], loops)
            case _ if isinstance(node, _EXPRESSIONS):
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr):
                        yield from self._value(part)
            case _:
                yield node

    def _comprehension(self, made: Sequence[ast.expr], loops: Sequence[ast.comprehension]) -> Iterator[ast.AST]:
        """A name that a loop binds may be handed on, and not be called."""
        yield from (one for loop in loops for one in self._stores([loop.target], None) if not _is_name(loop.target))
        bound = {name for loop in loops for name in bindings.stored(loop.target)}
        parts = [*made, *(part for loop in loops for part in (loop.iter, *loop.ifs))]
        called = {id(part.func) for one in parts for part in ast.walk(one) if isinstance(part, ast.Call)}
        for node in self._values(parts):
            if not (isinstance(node, ast.Name) and node.id in bound and id(node) not in called):
                yield node

    def _arguments(self, call: ast.Call) -> Iterator[ast.AST]:
        """Nothing is handed over that stands for a part of the language, or for the text's own module; nor to others
        a text that they could execute."""
        given = _given_to(call)
        if not self._is_pythons(call.func):
            yield from (part for one in given for part in _executable(one))
        yield from self._values(given)
        if isinstance(call.func, ast.Name) and call.func.id not in self._defined:
            yield from (keyword.value for keyword in call.keywords if not self._is_setting(keyword))
            return
        if self._dotted(call.func) != frozenset({"logging.getLogger"}):
            yield from (node for one in given for node in self._kept_back(one))

    def _is_pythons(self, called: ast.expr) -> bool:
        """Whether it is a builtin, or of Python's and NumPy's functions one that executes nothing."""
        if isinstance(called, ast.Name) and called.id not in self._defined:
            return True
        return bool(paths := self._dotted(called)) and paths <= _KNOWN

    def _is_setting(self, keyword: ast.keyword) -> bool:
        """Whether a builtin is only told how; a function that it is told would be called."""
        if keyword.arg == "file":
            paths = self._dotted(keyword.value)
            return bool(paths) and paths <= {"sys.stderr", "sys.stdout"}
        return keyword.arg in _HOW

    def _kept_back(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parts of the language and of Python's modules, but for constants, and what the module itself is called."""
        paths = self._dotted(node)
        if self._tells(node):
            yield node
        elif not paths:
            for part in ast.iter_child_nodes(node):
                yield from self._kept_back(part)
        elif not all(_is_frameworks(path) or _IS_DTYPE.fullmatch(path) or _is_constant(path) for path in paths):
            yield node

    def _tells(self, node: ast.AST) -> bool:
        """Whether it stands for a part of the language, or spells one."""
        match node:
            case ast.Name(id=name):
                return name in _OF_MODULES or name in self._given
            case ast.Constant(value=str() as text):
                return _SPELLED.search(text) is not None
            case _:
                return False

    def _is_value(self, name: str) -> bool:
        """Whether handing it over changes nothing: what is imported, plain, or the text's own and not needed."""
        meanings = self._defined.get(name, ())
        if not meanings:
            known = getattr(builtins, name, None)
            return name in _OF_MODULES or (name in allowed.BUILTINS and isinstance(known, type))
        if name in self._plain or name in self._modules:
            return True
        return name not in self._needed and not any(
            isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for one in meanings
        )

    def _binds_plain(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, _ASSIGNMENTS) or statement.value is None:
            return False
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return all(isinstance(one, ast.Name) for one in targets) and self._is_plain_value(statement.value)

    def _apart(self) -> set[str]:
        """Names behind which no part of the language stands, nor of Python's modules."""
        self._given = frozenset[str]()
        apart = set(self._defined)
        self._reduce(apart, lambda one: self._is_apart(one, apart))
        return apart

    def _is_apart(self, statement: ast.stmt, apart: set[str]) -> bool:
        if isinstance(statement, (*_IMPORTS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return True
        return scopes.names(statement).asked & self._defined.keys() <= apart and not any(self._kept_back(statement))

    def _is_plain_value(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self._plain
            case ast.Attribute():
                paths = self._paths(node) or {""}
                return all(path.partition(".")[0] in allowed.LANGUAGE or _is_constant(path) for path in paths)
            case ast.Call(func=ast.Name(id=function)):
                plain = function in _PLAIN_CALLS and function not in self._defined and not node.keywords
                return plain and all(self._is_plain_value(one) for one in node.args)
            case ast.UnaryOp() | ast.BinOp() | ast.Compare() | ast.IfExp() | ast.Tuple() | ast.BoolOp():
                parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return all(map(self._is_plain_value, parts))
            case _:
                return False

    def _makes_aside(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, _ASSIGNMENTS):
            return False
        made = isinstance(statement.value, _MAKING) and not _hands_on(statement.value)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return made and all(isinstance(one, ast.Name) for one in targets) and next(self.loud(statement), None) is None

    def _says_what_it_sets(self, call: ast.Call) -> bool:
        """Whether a variable of the environment, if it is one, is named in one piece."""
        named = bool(call.args) and isinstance(call.args[0], ast.Constant)
        return named or _SETS not in self._dotted(call.func)

    def _is_callable(self, node: ast.expr, call: ast.Call) -> bool:
        match node:
            case ast.Name(id=name) if name not in self._defined:
                return name in _CALLS
            case _:
                return self._is_of_aside(node) or self._is_known(node, call) or self._is_of_absent(node)

    def _is_decorator(self, node: ast.expr) -> bool:
        """Whether it calls nothing of the function that it is given, or is another framework's."""
        if self._is_of_absent(node):
            return True
        called, given = (node.func, _given_to(node)) if isinstance(node, ast.Call) else (node, [])
        paths = self._dotted(called)
        ours = bool(paths) and all(path in _DECORATORS or path.partition(".")[0] in allowed.LANGUAGE for path in paths)
        return ours and not any(self._values(given))

    def _is_of_aside(self, node: ast.expr) -> bool:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                return _is_fair(attribute) and name in self._aside
            case _:
                return False

    def _is_known(self, node: ast.expr, call: ast.Call) -> bool:
        paths = self._dotted(node)
        settings = {keyword.arg for keyword in call.keywords}
        return (
            bool(paths) and paths <= _KNOWN and (paths != frozenset({"logging.basicConfig"}) or settings <= _SETTINGS)
        )

    def _is_of_absent(self, node: ast.expr) -> bool:
        """Whether it is a harmless member of a framework, or behind calls of one."""
        asked: tuple[str, ...] = ()
        while isinstance(node, (ast.Attribute, ast.Call)):
            if isinstance(node, ast.Attribute):
                asked = (node.attr, *asked)
            if isinstance(node, ast.Call):
                asked = ()
                if next(self._arguments(node), None) is not None:
                    return False
                node = node.func
            elif _is_fair(node.attr):
                node = node.value
            else:
                return False
        paths = self._paths(node)
        return bool(paths) and all(_is_frameworks(path, asked) for path in paths)

    def _dotted(self, node: ast.AST) -> frozenset[str]:
        """The paths of what stands behind an imported name; none where it is anything else."""
        return bindings.dotted(node, self._modules)

    def _paths(self, node: ast.AST) -> frozenset[str]:
        """The same where all of it is public, and no module that another one has imported for itself."""
        found = self._dotted(node)
        parts = {part for path in found for part in path.split(".")[1:]}
        return found if all(map(_is_fair, parts)) else frozenset()


def _is_name(target: ast.expr) -> bool:
    return isinstance(target, ast.Name)


def _computed(annotation: ast.expr) -> Iterator[ast.AST]:
    """What a framework that reads annotations would execute: a call, or a text that holds one."""
    yield from (part for part in ast.walk(annotation) if isinstance(part, ast.Call))
    yield from _executable(annotation)


def _executable(given: ast.expr) -> Iterator[ast.AST]:
    """Texts that are more than words, and what may make such."""
    for part in ast.walk(given):
        if isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)):
            if not _WORDS.fullmatch(part.value if isinstance(part.value, str) else part.value.decode("latin-1")):
                yield part
        elif isinstance(part, ast.FormattedValue) and part.format_spec is not None:
            yield part


def _hands_on(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _HANDING_ON


def _given_to(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_frameworks(path: str, asked: Sequence[str] = ()) -> bool:
    """Whether what is asked for behind a path is a harmless member of a framework."""
    parts = [*path.split("."), *asked]
    above = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return not above.isdisjoint(_HARMLESS)


def _is_constant(path: str) -> bool:
    module, _, name = path.rpartition(".")
    if module in ("numpy", "math"):
        known = getattr(np if module == "numpy" else math, name, None)
        return isinstance(known, float) or (isinstance(known, type) and issubclass(known, np.generic))
    if module.endswith(".tile_size"):
        return True
    return bool(module) and module not in kernel_text.MODULES and name.isupper()


def _is_fair(attribute: str) -> bool:
    return not attribute.startswith(("_", *allowed.FORBIDDEN_PREFIXES)) and attribute not in _UNFAIR
