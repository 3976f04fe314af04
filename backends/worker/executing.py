"""Executes statements of a text as one module, each within what sees how it ends."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import os
import sys
import types
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Optional, TextIO

from nki_anvil.backends.worker import keeping
from nki_anvil.backends.worker.absent import Absent, AbsentModule, targets
from nki_anvil.backends.worker.kernel_text import FILENAME, KernelText
from nki_anvil.backends.worker.telling import PlaceTold

_WITHIN = ".within"
"""A name that no text can spell."""
_LETTERS = "abcdefghijkmnopqrstuvwxyz"
_WORDS = 32
"""Of a text that a module's name has in it at most."""

Within = Callable[[ast.stmt], AbstractContextManager[Any]]


class Printing:
    """Stands for ``print``."""

    def __init__(self, stream: TextIO) -> None:
        self._say = functools.partial(print, file=stream)

    def __call__(self, *values: Any, **how: Any) -> None:
        if "file" in how:
            raise PlaceTold("prints to an object of its own, which is handed the text of all that is printed")
        self._say(*values, **how)


def plain_name() -> str:
    """Another one each time: by what its module is called no text may tell where it is run."""
    drawn = os.urandom(8)
    return _LETTERS[drawn[0] % len(_LETTERS)] + drawn[1:].hex()


def name_of_a_file(text: KernelText) -> str:
    """A name in which there is what no ``plain_name`` has: words, capitals, and whatever the text itself could ask for.

    A text that finds out what its module is called is another one under a name like this.
    """
    asked = (node.value for one in text.statements for node in ast.walk(one) if isinstance(node, ast.Constant))
    words = [word for word in dict.fromkeys(asked) if isinstance(word, str) and word.isidentifier()]
    rest = [chr(byte % 26 + ord("A")) for byte in os.urandom(26)]
    return "_".join(["my", *words[:_WORDS], "Kernel", "".join(rest), plain_name(), "v2"])


def short_name() -> str:
    """A name without what either of the others has: short, and without digits."""
    return "my_" + _LETTERS[os.urandom(1)[0] % len(_LETTERS)]


def fresh_module(text: KernelText, name: str) -> types.ModuleType:
    """An empty module of that name.

    Among Python's modules, for dataclasses look their annotations up there. Its absent modules are bound, and its
    ``print`` to this process's stream, which is read and capped from outside, also while tracing redirects it.
    """
    module = types.ModuleType(name)
    module.__file__ = f"{module.__name__}.py"
    module.__doc__ = text.docstring
    sys.modules[module.__name__] = module
    linecache.cache[FILENAME] = (len(text.source), None, text.source.splitlines(keepends=True), FILENAME)
    module.__dict__.update({name: Absent(name) for name in text.absent}, print=Printing(sys.stdout))
    return module


def execute(
    module: types.ModuleType,
    statements: Sequence[ast.stmt],
    changing: ast.NodeTransformer,
    within: Within,
    *,
    asserting: bool = True,
) -> None:
    """Execute changed copies of the statements; whatever they raise and ``within`` does not keep comes through.

    At once, for Python makes equal constants of one compilation one object.
    """

    def numbered(number: int) -> AbstractContextManager[Any]:
        return within(statements[number])

    module.__dict__[_WITHIN] = numbered
    futures = [one for one in statements if _is_future(one)]
    others = [_inside(n, changing.visit(copy.deepcopy(s))) for n, s in enumerate(statements) if not _is_future(s)]
    keeping.begin()
    tree = ast.fix_missing_locations(ast.Module([*futures, *others], []))
    code = compile(tree, FILENAME, "exec", dont_inherit=True, optimize=0 if asserting else 1)
    exec(code, module.__dict__)  # noqa: S102


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _inside(number: int, changed: ast.stmt | list[ast.stmt]) -> ast.stmt:
    body = changed if isinstance(changed, list) else [changed]
    asked = ast.Call(ast.Name(_WITHIN, ast.Load()), [ast.Constant(number)], [])
    return ast.copy_location(ast.With([ast.withitem(asked)], body), body[0])


class Leaving:
    """Within it a statement that ends so, as where it needs an absent module, is left out; ``left_out`` hears of it."""

    def __init__(
        self,
        module: types.ModuleType,
        statement: ast.stmt,
        left_out: Callable[[ast.stmt], None] = lambda _: None,
        ends: type[Exception] = AbsentModule,
    ) -> None:
        self._names, self._statement, self._left_out, self._ends = module.__dict__, statement, left_out, ends

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> bool:
        if kind is None or not issubclass(kind, self._ends):
            return False
        self._left_out(self._statement)
        # What it would have bound is not what an earlier statement bound.
        self._names.update({name: Absent(name, self._statement.lineno) for name in targets(self._statement)})
        return True
