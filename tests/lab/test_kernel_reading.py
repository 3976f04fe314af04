"""The language gate reads the tree: it names the line and what to write instead, and takes public kernels."""

import sys
from pathlib import Path

import pytest

from nki_anvil.lab.gates import language

HEAD = """import os
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np
import math
from functools import reduce

print("kernels")
P = nl.tile_size.pmax
"""

HONEST = (
    HEAD
    + '''
class Tiles:
    """A helper with state."""

    def __init__(self, rows):
        self.rows = rows

    def each(self):
        return [(start, min(P, self.rows - start)) for start in range(0, self.rows, P)]


def load(x, start, size):
    tile = nl.ndarray((size, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[start : start + size, :])
    return tile


@nki.jit
def kernel(x, eps: "torch.Tensor" = 1e-5):
    out = nl.ndarray(x.shape, dtype=np.float32, buffer=nl.shared_hbm)
    eye = nl.shared_constant(np.identity(128, dtype=np.dtype(np.int8).type(0).dtype))
    for start, size in Tiles(x.shape[0]).each():
        tile = load(x, start, size)
        nisa.activation(dst=tile, op=np.add if math.prod(x.shape) else nl.exp, data=tile)
        assert type(size) is int and hasattr(x, "shape"), f"size {size}"
        nisa.dma_copy(dst=out[start : start + size, :], src=tile)
    return out


def test_it():
    import torch

    try:
        open("secret")
    except OSError:
        torch.load("secret")


if __name__ == "__main__":
    test_it()
'''
)


def body(statement: str) -> str:
    return HEAD + f"\n@nki.jit\ndef kernel(x):\n    {statement}\n    return x\n"


def test_an_ordinary_public_kernel_passes_and_what_was_left_out_is_said() -> None:
    found = language.judge(HONEST, None)
    assert found.passed, found.detail
    assert any("print(" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("eval('1')", "`eval`"),
        ("exec('1')", "`exec`"),
        ("open('f')", "`open`"),
        ("getattr(x, '__class__')", "`__class__`"),
        ("getattr(x, name)", "literal name"),
        ("x.__class__.__bases__", "`__class__`"),
        ("(i for i in x).gi_frame", "`gi_frame`"),
        ("map(np.dtype('U90').type, [x])", "be given away"),
        ("nl.sbuf = 3", "is set"),
        ("del x.shape", "is set"),
        ("import os; os.system('x')", "`os`"),
        ("import subprocess", "`subprocess`"),
        ("from numpy import load", "`numpy.load`"),
        ("np.random.seed(1)", "`numpy.random`"),
        ("np.lib.npyio.np", "`numpy.lib`"),
        ("np.matmul(x, x)", "nki.isa"),
        ("nl._private()", "private"),
        ("'{0.__class__}'.format(x)", "`format`"),
        ("t = '{0.a}'; t.format_map(x)", "`format`"),
        ("globals()", "`globals`"),
        ("type('T', (), {})", "`type`"),
        ("print(vars(x))", "`vars`"),
        ("import sys", "`sys`"),
        ("__import__('os')", "`__import__`"),
        ("breakpoint()", "`breakpoint`"),
        ("from functools import singledispatch", "singledispatch"),
        ("from functools import wraps", "wraps"),
        ("from typing import Text", "`typing.Text`"),
        ("builder = x.storage.trace", "`storage`"),
        ("builder = getattr(x, 'storage', None)", "`storage`"),
        ("import operator; operator.attrgetter('a')", "attrgetter"),
        ("from . import helper", "relative import"),
        ("global P", "`global`"),
        ("m = np; m.load('f')", "is a module"),
        ("[math for _ in x]", "is a module"),
        ("lang = nl", "is a module"),
        ("lang = nki.language; lang.exp", "is a module"),
        ("y = {1, 2}", "A set has another order in every process"),
        ("y = list({1, 2})", "A set has another order in every process"),
        ("y, z = {1, 2}", "A set has another order in every process"),
        ("y = [*{1, 2}]", "A set has another order in every process"),
        ("y = [n for n in {1, 2}]", "A set has another order in every process"),
        ("y = ''.join({'a', 'b'})", "A set has another order in every process"),
        ("y = 1 in [*{1, 2}]", "A set has another order in every process"),
        ("y = dict({(1, 2), (3, 4)})", "A set has another order in every process"),
        ("y = {n for n in x.shape}", "A set has another order in every process"),
        ("y = sorted(set(x.shape))", "A set has another order in every process"),
        ("y = frozenset()", "A set has another order in every process"),
        ("1 in [{1, 2}]", "asks for no order"),
        ("y = {1: 2}.keys()", "stands in a loop"),
        ("y = {1: 2}.items", "stands in a loop"),
        ("y = max({1: 2}.keys(), {1: 3}.keys())", "stands in a loop"),
        ("y = sum([], {1: 3}.keys())", "stands in a loop"),
        ("y = {1: 2}.keys() | {2: 3}.keys()", "stands in a loop"),
        ("y = dict(a=[1]).items() - {}.items()", "stands in a loop"),
        ("y = getattr({1: 2}, 'keys')()", "stands in a loop"),
        ("y = nl.affine_range(2)", "stands in a loop"),
        ("y = [nl.sequential_range(2)]", "stands in a loop"),
        ("y = nl.dynamic_range", "stands in a loop"),
        ("__repr__ = 1", "`__repr__`"),
        ("from collections.abc import KeysView; y = KeysView({1: 2})", "stands beside types"),
        ("from collections import abc; y = [abc.KeysView]", "stands beside types"),
    ],
)
def test_what_a_kernel_may_not_do_is_named_with_its_line(statement: str, said: str) -> None:
    found = language.judge(body(statement), None)
    assert found.passed is False
    assert said in f"{found.detail} {found.hint}"
    assert found.line == 14


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("try:\n        y = 1\n    except Exception:\n        pass", "`try`"),
        ("match x:\n        case object(shape=s):\n            pass", "`match`"),
        ("yield x", "generator"),
        ("yield from x", "generator"),
        ("def f():\n        nonlocal x\n        x = 1", "`nonlocal`"),
        ("y = [z := 1]", "`:=`"),
        ("@print\n    def f():\n        pass", "decorator"),
        ("@x(x)\n    def f():\n        pass", "decorator"),
        ("@x\n    class C:\n        pass", "decorator"),
        ("@dataclasses.dataclass(eq=own())\n    class C:\n        pass", "decorator"),
        ("@dataclasses.dataclass(unsafe_hash=True)\n    class C:\n        pass", "no hash"),
        ("class C:\n        a: int = dataclasses.field(hash=True)", "holds what could be changed"),
        ("class C:\n        a: int = dataclasses.field(compare=False)", "holds what could be changed"),
        ("class C:\n        for rows in range(2):\n            pass", "fields and methods"),
        ("class C:\n        def __eq__(self, other):\n            return True", "`__eq__`"),
        ("class C:\n        def __iter__(self):\n            return self", "`__iter__`"),
        ("class C:\n        def __call__(self):\n            return self", "`__call__`"),
        ("raise ValueError('x') from ValueError('y')", "`from`"),
        ("class C(metaclass=x):\n        pass", "metaclass"),
    ],
)
def test_blocks_that_are_not_available_are_named(block: str, said: str) -> None:
    found = language.judge(body(block), None)
    assert found.passed is False
    assert said in f"{found.detail} {found.hint}"


def test_a_helper_that_the_kernel_reaches_is_read_too() -> None:
    source = HEAD + "\ndef helper(x):\n    return eval('x')\n\n@nki.jit\ndef kernel(x):\n    return helper(x)\n"
    assert language.judge(source, None).passed is False


def test_a_class_of_the_text_may_have_fields_that_are_named_as_methods_of_dictionaries() -> None:
    cache = "class Cache(nl.NKIObject):\n    def __init__(self):\n        self.items = []\n        self.keys = 2.0\n"
    asking = body("held = Cache(); held.items.append(x); y = held.items[0]; z = held.keys").removeprefix(HEAD)
    kept = f"{HEAD}{cache}{asking}"
    assert language.judge(kept, None).passed
    assert language.judge(kept.replace("Cache(); held.items.append(x)", "{}; held.keys()"), None).passed is False


@pytest.mark.parametrize(
    "statement",
    [
        "y = 1 in {1, 2}",
        "y = type(x) not in {int, float}",
        "y = x.dtype in {nl.float32, nl.bfloat16}",
        "y = [n for n in nl.affine_range(2)] + list(nl.static_range(2))",
        "y = sum((n for n in x.shape), 0) + max({1: 2}.keys())",
        "y = [*{1: 2}.keys()]",
    ],
)
def test_what_asks_for_no_order_or_goes_through_a_dictionary_is_available(statement: str) -> None:
    assert language.judge(body(statement), None).passed


@pytest.mark.parametrize(
    "head",
    [
        "import neuronxcc.nki as nki\nimport nki.language as nl\n",
        "import nki\nimport nki.language as nl\nimport neuronxcc.nki.language as old\nSIZE = old.tile_size\n",
        "import nki\nfrom neuronxcc.nki.language import load\nimport nki.language as nl\n",
    ],
)
def test_a_kernel_speaks_one_dialect(head: str) -> None:
    text = f"{head}\n@nki.jit\ndef kernel(x):\n    y = nl.exp\n    return (x, {head.split()[-3]}, load)\n"
    found = language.judge(text.replace("load)", "load)" if "load" in head else "y)"), None)
    assert found.passed is False
    assert "speaks both" in found.detail


def test_a_text_names_no_annotation_that_is_bound_below() -> None:
    kept = '@dataclass(frozen=True)\nclass Way:\n    zero: "Fixed[float]" = 0.0\n    more: "Own" = 1.0\n'
    kept += "class Own:\n    pass\n"
    text = f"{HEAD}from dataclasses import dataclass\n{kept}Fixed = ClassVar\n{body('Way(1.0)').removeprefix(HEAD)}"
    found = language.judge(text, None)
    assert found.passed is False
    assert "`Fixed` is bound anew" in found.detail
    assert language.judge(text.replace("Fixed[float]", "float"), None).passed


def test_a_local_name_may_shadow_a_builtin() -> None:
    assert language.judge(body("input = x; vars = input"), None).passed


@pytest.mark.parametrize("source", ["", "def kernel(x:\n", "x = 1\n", "\0", "(" * 5000])
def test_text_without_a_kernel_fails_with_a_sentence(source: str) -> None:
    found = language.judge(source, None)
    assert found.passed is False
    assert found.detail


def test_every_seed_kernel_passes() -> None:
    kernels = sorted((Path(__file__).parents[2] / "seeds" / "problems").glob("*/kernel.py"))
    assert len(kernels) >= 12
    for kernel in kernels:
        found = language.judge(kernel.read_text(), None)
        assert found.passed, (kernel, found.detail)


@pytest.mark.parametrize(
    "statement",
    [
        "[eval for eval in [1]]; eval('1')",
        "(lambda eval: 1); eval('1')",
        "[getattr for getattr in [1]]; getattr(x, '__cl' + 'ass__')",
        "typing.get_type_hints(annotated)",
        "hints(annotated)",
        "typing.ForwardRef('1')",
        "typing.Union['1']._evaluate({}, {}, frozenset())",
        "typing.Optional['1']._evaluate({}, {}, frozenset())",
    ],
)
def test_a_name_that_another_scope_binds_or_an_annotation_hides_is_seen(statement: str) -> None:
    annotated = (
        "import typing\nfrom typing_extensions import get_type_hints as hints\ndef annotated(a: 'open(1)'): pass\n"
    )
    found = language.judge(annotated + body(statement), None)
    assert found.passed is False
    said = f"{found.detail} {found.hint}"
    assert "Rename" in said or "literal name" in said or "annotations" in said or "`_evaluate`" in said


@pytest.mark.parametrize("module", ["numpy", "operator", "functools", "typing", "nki.language", "nki"])
def test_everything_of_a_module_of_which_not_everything_is_allowed_is_refused(module: str) -> None:
    found = language.judge(f"from {module} import *\n" + body("load('f')"), None)
    assert found.passed is False
    assert found.hint == "Name what you import."
    inside = language.judge(body(f"from {module} import *\n    load('f')"), None)
    assert inside.code == "SyntaxError"


ALIAS = "import nki.language as np"
EXECUTED = 'a=__import__("os")'


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (f"def unused():\n        {ALIAS}\n    np.load('f')", "`numpy.load`"),
        ("[input for input in [1]]; input('Accuracy: 1')", "`input`"),
        ("[type for type in [1]]; type('T', (), {})", "`type`"),
        ("(lambda exit: 1); exit(0)", "`exit`"),
        ("type(int)('T', (), {})", "`type`"),
        ("meta = type(int)", "`type`"),
        ("typing.get_origin(typing.Type[int])('T', (), {})", "get_origin"),
        (f"typing.TypedDict('T', {{'{EXECUTED}': int}})", "TypedDict"),
        ("dataclasses.dataclass(x)", "decorator of a class"),
        ("enum.Enum('E', {'__array_interface__': x})", "base of a class with members"),
        ("from enum import Enum\n    Enum('E', {'__array_interface__': x})", "base of a class with members"),
        ("from enum import Enum\n    x == Enum", "base of a class with members"),
        ("from dataclasses import dataclass\n    dataclass(x)", "decorator of a class"),
        ("class E(enum.Enum):\n        pass\n    E('F', {'__array_interface__': x})", "base of a class with members"),
        (f"class C:\n        __annotations__ = {{'{EXECUTED}': int}}", "`__annotations__`"),
        ("class C:\n        def __array_interface__(self):\n            return x", "`__array_interface__`"),
        ("class C:\n        @staticmethod\n        def __init__(one):\n            pass", "`__init__`"),
        ("class C:\n        __repr__ = 1", "`__repr__`"),
        ("class C:\n        import numpy\n    C.numpy.load('f')", "import in a class"),
        ("def f(input):\n        class C:\n            y = input('x')\n            input = 1", "`input`"),
        ("alike = collections.abc; alike.sys", "is a module"),
        ("class C:\n        if x:\n            import numpy\n    C.numpy.load('f')", "import in a class"),
        ("class C:\n        def __getattr__(self, name):\n            return x", "`__getattr__`"),
        ("class C:\n        def __init__(self):\n            super(open('f'), self).__init__()", "`open`"),
        ("class E(enum.Enum):\n        _ignore_ = 'A'\n        A = 1\n    E('F', {'a': x})", "`_ignore_`"),
        ("class E(enum.Enum):\n        A = 1\n        def _missing_(cls, value):\n            return x", "`_missing_`"),
        ("class E(enum.Enum):\n        A = 1\n    E._member_map_", "`_member_map_`"),
        ("nl.Counter.mro()", "`mro`"),
        ("x.evaluate()", "`evaluate`"),
        ("def patch(self):\n        self.update = x", "is set"),
        ("self = x\n    self.update = x", "is set"),
        ("class C:\n        def patch(self):\n            self = x\n            self.update = x", "is set"),
        ("class C:\n        def patch(self, other):\n            other.update = x", "is set"),
        ("nl.os.system('x')", "leads out of"),
        ("assert __file__", "`__file__`"),
        ("y = x if __name__ == 'kernel' else 1", "`__name__`"),
        ("f'{__debug__}'", "`__debug__`"),
        ("class C:\n        module = __module__", "`__module__`"),
        ("class C:\n        def f(self):\n            return __class__", "`__class__`"),
        ("__file__ = 1", "`__file__`"),
        ("left = [1.5]\n    left[0] is 1.5", "Compare by `==`"),
        ("x is not x", "Compare by `==`"),
        ("class C:\n        half = 0.5\n    x is C.half", "Compare by `==`"),
        ("1 < x is x", "Compare by `==`"),
        ("x.dtype is nl.float32", "Compare by `==`"),
        ("import math\n    x is math.pi", "Compare by `==`"),
        ("class C:\n        pass\n    C = 0.5\n    x is C", "Compare by `==`"),
        ("float = 0.5\n    x is float", "Compare by `==`"),
        ("'{:{}}'.format(x, x)", "not a plain literal"),
        ("y = __doc__", "`__doc__`"),
        ("def repr(one):\n        return one\n    repr(type(''))", "`type`"),
        ("def isinstance(one, other):\n        return other\n    isinstance(1, type(''))", "`type`"),
        ("def super():\n        return x\n    super().__init__(x)", "`__init__`"),
        ("class C(nl.NKIObject):\n        def put(self, x):\n            super().__init__(x)", "`super`"),
        ("class B:\n        pass\n    class C(B):\n        pass", "not derived from `B`"),
        ("class C(ValueError):\n        pass", "not derived from `ValueError`"),
        ("class C(nl.DType):\n        pass", "not derived from `nl.DType`"),
        ("class C(typing.NamedTuple):\n        a: int", "not derived from `typing.NamedTuple`"),
        ("assert f'{x}'", "no function of the text"),
        ("assert max([x], key=x)", "no function of the text"),
        ("assert str(x)", "may call builtins"),
        ("assert np.add(x, x, x) is None", "may call builtins"),
        ("class C:\n        @property\n        def a(self):\n            return 1", "`property`"),
        ("type('') == x", "`type`"),
        ("type('') in x", "`type`"),
        ("(lambda int: type('') == int)(x)", "`type`"),
        ("y = 0 and (print := 0)\n    hasattr(print, 'x')", "be given away"),
        ("class C(type('')):\n        A = 1", "not derived from `type('')`"),
        ("class C(np.dtype('U9').type):\n        A = 1", "not derived from"),
        ("class C(type(x)):\n        A = 1", "not derived from"),
        ("class C(collections.deque):\n        pass", "not derived from `collections.deque`"),
        ("class C(staticmethod):\n        pass", "not derived from `staticmethod`"),
        ("class B:\n        pass\n    B = dict\n    class C(B):\n        pass", "not derived from `B`"),
        ("limits = np.finfo\n    limits._finfo_cache['a'] = 1", "`_finfo_cache`"),
        ("kind = x\n    kind._table['a'] = 1", "private"),
    ],
)
def test_no_second_meaning_of_a_name_hides_what_it_is(statement: str, said: str) -> None:
    imports = "import collections\nimport dataclasses\nimport enum\nimport typing\n"
    found = language.judge(imports + body(statement), None)
    assert found.passed is False
    assert said in f"{found.detail} {found.hint}"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("y = iter(x)", "`iter`"),
        ("y = next(x)", "`next`"),
        ("y = map(int, x)", "`map`"),
        ("y = object()", "given away"),
        ("y = [str]", "given away"),
        ("y = own(list)", "given away"),
        ("y = own(key=repr)", "given away"),
        ("y = print", "given away"),
        ("y = ValueError('x')", "given away"),
        ("y = super()", "`super`"),
        ("y = super(x, x).f()", "`super`"),
        ("y = zip(x, x)", "`list(...)`"),
        ("y = (one for one in x)", "`list(...)`"),
        ("y = own(enumerate(x))", "`list(...)`"),
        ("y = itertools.product(x, x)", "`list(...)`"),
        ("y = itertools.count()", "`itertools.count`"),
        ("sum = 1\n    y = sum(x)", "Rename your own"),
        ("def f(str):\n        return 1\n    y = str(x)", "Rename your own"),
        ("y = hasattr(itertools, 'batched')", "versions of Python"),
        ("y = getattr(np, 'float8', None)", "versions of Python"),
        ("y = hasattr(nl, 'int64')", "NKI and its simulator apart"),
        ("y = getattr(nl, 'of_the_vendor', None)", "NKI and its simulator apart"),
        ("y = functools.partial(own)", "`functools.partial`"),
        ("keywords = 1\n    y = x.keywords", "`keywords`"),
        ("_kept = 1\n    y = x._kept", "private"),
        ("y = nl.NKIObject(__wrapped__=None)", "`__wrapped__`"),
        ("y = np.ones(9) @ np.ones(9)", "threads"),
        ("x @= x", "`@=`"),
        ("y = np.ones(9).dot(np.ones(9))", "`dot`"),
        ("y = np.negative(x, where=x, out=None)", "`where`"),
        ("y = own(where=x)", "`where`"),
        ("y = np.zeros(2, out=x)", "`out`"),
        ("y = np.negative(**x)", "`**`"),
        ("op = np.negative\n    op(**x)", "`**`"),
        ("x %= 2", "`%=`"),
        ("y = f'{own!r:.14}'", "cut short"),
        ("y = f'{x:n}'", "locale"),
        ("y = sorted(x, key=nl.DType)", "`key`"),
        ("y = [0 for math.pi in x]", "binds names"),
        ("for x.shape in [1]:\n        pass", "binds names"),
        ("y = '{!r:.14}'.format(own)", "`format`"),
        ("y = typing.Annotated[int, x]", "annotations"),
        ("y = enum.Flag", "`enum.Flag`"),
        ("y = functools.lru_cache(own)", "`functools.lru_cache`"),
        ("y = np.identity(2).base", "`base`"),
        ("y = collections.deque()", "`collections`"),
        ("y = dataclasses.asdict(x)", "`dataclasses.asdict`"),
    ],
)
def test_what_can_remember_or_hand_on_a_call_is_refused_with_what_to_write(statement: str, said: str) -> None:
    modules = ("collections", "dataclasses", "enum", "functools", "itertools", "typing")
    imports = "".join(f"import {module}\n" for module in modules) + "def own(y):\n    return y\n"
    found = language.judge(imports + body(statement), None)
    assert found.passed is False
    assert said in f"{found.detail} {found.hint}"


@pytest.mark.parametrize(
    "statement",
    [
        "for n, (y, z) in enumerate(zip(x, reversed(x))):\n        pass",
        "total = sum(2 * y for y in x) + max(len(y) for y in x)",
        "tiles = [(m, n) for m, n in itertools.product(range(2), range(3))]",
        "rows = list(itertools.chain(range(2), range(3)))",
        "y = functools.reduce(max, x)",
        "y = sorted(x)[0] if isinstance(x, (list, tuple)) else isinstance(x, int | float)",
        "Rows = tuple[int, ...]",
        "y = ', '.join(str(z) for z in x)",
        "@dataclasses.dataclass(frozen=True)\n    class C:\n        base: int\n        all: list = dataclasses.field("
        "default_factory=list)\n    C(1).base",
        "class C(nl.NKIObject):\n        def __init__(self):\n            self.data = 1\n        @staticmethod\n"
        "        def f():\n            return 1\n    C().data",
        "y = {np.float32: 4, nl.bfloat16: 2}[x.dtype]",
        "y = x.astype(float) if hasattr(nl, 'float8_e4m3fn') and hasattr(x, 'shape') else None",
        "raise ValueError(f'{x.shape}')",
        "raise NotImplementedError",
        "op = lambda y: y + 1\n    op(1)",
    ],
)
def test_what_public_kernels_are_written_with_passes(statement: str) -> None:
    imports = "import dataclasses\nimport functools\nimport itertools\ndef own(y):\n    return y\n"
    found = language.judge(imports + body(statement), None)
    assert found.passed, found.detail


@pytest.mark.parametrize(
    "statement",
    [
        "import numpy as np\n    np.float32",
        "import nki.language as numbers\n    numbers.float32",
        "def scaled(input, format=1):\n        return [input for _ in range(format)]",
        "class E(enum.IntEnum):\n        A = 1\n    E(1)",
        "@dataclasses.dataclass(frozen=True)\n    class C:\n        rows: int = 1\n    C(2)",
        "class C:\n        def __init__(self):\n            self._rows = 1\n    C()._rows",
        "class C:\n        def f(self):\n            def g():\n                self.rows = 1\n            g()",
        "_, __ = x",
        "x is None or x is not True or x is ...",
        "type(x) is int or x.buffer is nl.sbuf",
        "class E(enum.Enum):\n        A = 1\n    E.A is x",
        "class C:\n        pass\n    x is C",
        "class Gate(enum.Enum):\n        SILU = enum.auto()\n        RELU = enum.auto()\n    Gate.SILU == Gate.RELU",
        "assert np.issubdtype(x.dtype, np.floating) and np.finfo(x.dtype).bits == 32",
        "assert type(x) == type(x) and isinstance(1, type(2)), f'{type(x)}'",
    ],
)
def test_what_is_what_it_looks_like_passes(statement: str) -> None:
    found = language.judge("import collections\nimport dataclasses\nimport enum\n" + body(statement), None)
    assert found.passed, found.detail


RUN_BY_AN_IMPORT = {
    "a value that nobody needs": "def forge():\n    import os\n\n\nFIGURES = forge()\n",
    "a value without a name": "def forge():\n    return open('result.json')\n\n\n() = forge()\n",
    "an annotation": "def unused(y: __import__('os').system('forge')):\n    pass\n",
    "an annotated value": "rows: open('result.json') = 1\n",
    "a default": "def unused(y=open('result.json')):\n    pass\n",
    "a class": "class Unused:\n    rows = open('result.json')\n",
    "a printed line": "said = print('Latency: 1')\n",
    "what an enumeration that ignores its members makes": (
        "import enum\n\n\nclass Mode(enum.Enum):\n    _ignore_ = 'A'\n    A = 1\n\n\n"
        "FOUND = Mode._convert_('Found', 'os', lambda name: name == 'system')\n"
    ),
    "an annotation that is caught in a comparison": (
        "import typing\n\n\nclass Own:\n    def __eq__(self, other):\n"
        "        return other._evaluate({}, {}, set())\n\n\n"
        "SAME = typing.List[Own()] == typing.List['open(1)']\n"
    ),
    "a private attribute of somebody else's": "def unused(y):\n    return y._library\n",
    "an error when a generator is dropped": "def unused(scope):\n    with scope:\n        yield 1\n",
    "an error when what it waits for is dropped": "def unused(own):\n    yield from own\n",
    "a line from the device": "def unused(y):\n    nl.device_print('Latency: 1', y)\n",
}


READ_ONLY_THEN = {
    "a private attribute of somebody else's", "an error when a generator is dropped",
    "an error when what it waits for is dropped", "a line from the device",
}  # fmt: skip


@pytest.mark.parametrize("what", RUN_BY_AN_IMPORT)
def test_of_a_text_that_is_imported_everything_counts_that_the_import_runs(what: str) -> None:
    head = HEAD.replace("import os\n", "").replace('print("kernels")\n', "")
    plain = head + "\n@nki.jit\ndef kernel(x, y: int = 1):\n    return x\n"
    assert language.judge(plain, None, imported=True).passed
    if what in READ_ONLY_THEN:
        assert language.judge(plain + RUN_BY_AN_IMPORT[what], None).passed, "the process that traces it sees no data"
    assert language.judge(plain + RUN_BY_AN_IMPORT[what], None, imported=True).passed is False


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
@pytest.mark.parametrize(
    "helper", ["def unused[T: open('f')](y):\n    pass\n", "class Unused[T: open('f')]:\n    y = 1\n"]
)
def test_the_bound_of_a_type_parameter_is_read_since_it_can_be_executed(helper: str) -> None:
    text = "import nki\n" + helper + "\n@nki.jit\ndef kernel(x):\n    return x\n"
    assert language.judge(text, None, imported=True).passed is False


@pytest.mark.parametrize(
    ("head", "passed"),
    [
        ("def kernel(*given, **named):", False),
        ("def kernel(*given, x=None):", False),
        ("def kernel(*given):", True),
        ("def kernel(x, *, scale=1.0):", True),
    ],
)
def test_a_kernel_that_is_another_when_it_is_called_by_names_is_refused(head: str, passed: bool) -> None:
    for text in (f"{head}\n    return None\n", f"import nki\n\n@nki.jit\n{head}\n    return None\n"):
        found = language.judge(text, None)
        assert found.passed is passed, found.detail
        assert passed or "Name every parameter" in f"{found.detail} {found.hint}"


@pytest.mark.parametrize("base", ["object", "Enum", "enum.IntEnum", "nl.NKIObject"])
def test_a_class_may_be_derived_from_what_keeps_nothing_unseen(base: str) -> None:
    head = "import enum\nfrom enum import Enum\n"
    text = f"{head}{body('y = C.A')}\n\nclass C({base}):\n    A = 1\n"
    found = language.judge(text, None)
    assert found.passed, found.detail


def test_the_kind_of_a_dtype_may_be_called_and_compared() -> None:
    assert language.judge(body("np.dtype(np.float32).type(1) if x.dtype.type == np.float32 else None"), None).passed


@pytest.mark.parametrize("binding", ["{}: object", "UNUSED = 0 and ({} := 0)", "if 0:\n    {} = 0", "{} = 0\ndel {}"])
@pytest.mark.parametrize("name", ["hash", "bytearray", "id"])
def test_a_builtin_that_is_not_available_stays_so_whatever_seems_to_bind_its_name(binding: str, name: str) -> None:
    found = language.judge(f"{binding.replace('{}', name)}\n{body(f'{name}(x)')}", None)
    assert found.passed is False
    assert f"`{name}`" in f"{found.detail} {found.hint}"


KEPT = {
    "what a sum begins with": ("SEEN = sum((), [])", "SEEN.append(1)"),
    "what a maximum returns": ("SEEN = max([0], [1])", "SEEN.append(1)"),
    "what a maximum returns by name": ("SEEN = max((), default=[])", "SEEN.append(1)"),
    "a list in a slice": ("PART = slice([0], 1)\nSEEN = PART.start", "SEEN.append(1)"),
    "a list of lists that are bound below": ("def f():\n    return A\nSEEN = A + A\nA = [0]", "SEEN.append(1)"),
    "a part of a list": ("A = [0]\nSEEN = A[0:1]", "SEEN.append(1)"),
    "a list that a dictionary returns": ("SEEN = [0]", "{0: SEEN}[0].append(1)"),
    "a list that a maximum returns": ("SEEN = [0]", "max(SEEN, SEEN).append(1)"),
    "a list that a sum begins with": ("SEEN = [0]", "sum((), SEEN).append(1)"),
    "a list as a field": ("class C(NamedTuple):\n    seen: object\nSEEN = C(sum((), []))", "SEEN.seen.append(1)"),
    "a list that is made for a field above": (
        "@dataclass(frozen=True)\nclass A:\n    seen: object = field(default_factory=list)\n"
        "@dataclass(frozen=True)\nclass C(A):\n    n: int = 0\nSEEN = C()",
        "SEEN.seen.append(1)",
    ),
    "an object as a field": (
        "class Seen:\n    def put(self):\n        self.n = 1\n"
        "@dataclass\nclass C:\n    seen: object = field(default=Seen())",
        "C().seen.put()",
    ),
    "what an object's method returns": (
        "@dataclass(frozen=True)\nclass C:\n    def item(self):\n        return []\nSEEN = C().item()",
        "SEEN.append(1)",
    ),
    "what an object's method returns in parts": (
        "@dataclass(frozen=True)\nclass C:\n    def values(self):\n        return [[]]\n"
        "HELD = C()\nSEEN = list(HELD.values())",
        "SEEN[0].append(1)",
    ),
    "a method behind the language": (
        "class Seen:\n    def put(self):\n        self.n = 1\nSEEN = nki.jit(Seen().put)",
        "SEEN()",
    ),
    "a method as its class's default": (
        "class Seen:\n    def put(self):\n        self.n = 1\n    def run(self, how=put):\n        how(own)",
        "Seen().run()",
    ),
    "a method in its class's tuple": (
        "class Seen:\n    def put(self):\n        self.n = 1\n    ways = (put,)",
        "Seen.ways[0](own)",
    ),
    "a method as its class's factory": (
        "class Seen:\n    def put(self):\n        self.n = 1\n    made: object = field(default_factory=put)",
        "own(Seen)",
    ),
    "a class as anybody's factory": (
        "class Seen:\n    def put(self):\n        self.n = 1\ndef first(default_factory):\n    return default_factory",
        "first(default_factory=Seen).put(own)",
    ),
    "a method by another name": (
        "class Seen:\n    def put(self):\n        self.n = 1\n    other = put",
        "Seen.other(own)",
    ),
    "a member of an enumeration below another": (
        "class A(enum.Enum):\n    pass\nclass B(A):\n    ONE = 1\n    def put(self):\n        self.seen = 1",
        "B.ONE.put()",
    ),
    "a member that is of the language": ("class A(nl.DType, enum.Enum):\n    ONE = 1", "A.ONE"),
    "the letters of a dtype": ("SEEN = nl.float32.split('o')", "SEEN.append(1)"),
    "a list that is given to a function": ("SEEN = [0]", "own(SEEN)"),
    "a list behind another name": ("SEEN = [0]", "seen = SEEN"),
    "a list that is added to": ("SEEN = [0]", "SEEN.append(1)"),
    "a place in a list": ("SEEN = [0]", "SEEN[0] += 1"),
    "a list in a tuple": ("SEEN = ([0],)", "SEEN[0].append(1)"),
    "a list in a dictionary": ("SEEN = {'a': []}", "SEEN['a'].append(1)"),
    "an array": ("SEEN = np.zeros(2)", "SEEN[0] = 1"),
    "what a function has made": ("SEEN = own([0])", "SEEN.append(1)"),
    "a function that another has made": ("SEEN = own(lambda: 1)", "SEEN()"),
    "a default": ("def keeps(y, seen=[]):\n    seen.append(1)", "keeps(x)"),
    "a default of a lambda": ("keeps = lambda y, seen=[]: seen", "keeps(x)"),
    "an object": ("class Seen:\n    def f(self):\n        self.n = 1\nSEEN = Seen()", "SEEN.f()"),
    "a list that a class holds": ("class Seen:\n    n = []", "Seen.n.append(1)"),
    "a class as its method's object": ("class Seen:\n    def f(self):\n        self.n = 1", "Seen.f(x)"),
    "a class that is given away": ("class Seen:\n    def f(self):\n        self.n = 1", "own(Seen).f(x)"),
    "an enumeration's member": (
        "import enum\nclass Seen(enum.Enum):\n    A = 1\n    def f(self):\n        self.n = 1", "Seen.A.f()"
    ),
    "a member by what it is derived from": (
        "import enum\nclass Base:\n    def f(self):\n        self.n = 1\nclass Seen(Base, enum.Enum):\n    A = 1",
        "Seen.A.f()",
    ),
    "a frozen dataclass with a list": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Seen:\n"
        "    n: list = dataclasses.field(default_factory=list)\nSEEN = Seen()",
        "SEEN.n.append(1)",
    ),
    "a list as a slice's end": ("SEEN = slice([])", "SEEN.stop.append(1)"),
    "a list out of a generator": ("SEEN = tuple([] for _ in range(1))", "SEEN[0].append(1)"),
    "a list out of a display": ("SEEN = [one for one in ([], ())]", "SEEN[0].append(1)"),
    "a list by name": ("SEEN = dict(a=[])", "SEEN['a'].append(1)"),
    "a list by typing": ("import typing\nSEEN = typing.cast('list', [])", "SEEN.append(1)"),
    "a list that a class has called for": ("class Seen:\n    n = list()", "Seen.n.append(1)"),
    "an object that a class holds": (
        "class Own:\n    def f(self):\n        self.n = 1\nclass Seen:\n    own = Own()", "Seen.own.f()"
    ),
    "a function as a static method's self": (
        "class Seen:\n    @staticmethod\n    def put(self):\n        self.n = 1", "Seen.put(own)"
    ),
    "a set that is given to a function": ("SEEN = {'a', 'b'}", "sorted(SEEN)"),
    "a set that is gone through": ("SEEN: object = {'a', 'b'}", "[one for one in SEEN]"),
    "a set that others are compared with": ("SEEN = {'a', 'b'}", "SEEN == SEEN | SEEN"),
    "a set that a class holds": ("class Seen:\n    n = {1, 2}", "1 in Seen.n"),
    "a set by another name": ("SEEN = {1, 2}\nALSO = SEEN", "1 in ALSO"),
    "a loop of the whole text": ("for n in range(2):\n    SEEN = n", "own(SEEN)"),
}  # fmt: skip


@pytest.mark.parametrize(
    "field",
    ["first: Width = 1.0", "first: 'Width' = 1.0", "first: Width[int] = 1.0", "first: pydantic.fields.Width = 1.0"],
)
def test_no_module_that_is_absent_says_what_a_field_is(field: str) -> None:
    head = f"{HEAD}import pydantic.fields\nfrom pydantic.fields import ClassVar as Width\n"
    held = f"@dataclass(frozen=True)\nclass Way:\n    {field}\n    second: float = 1.0\n"
    found = language.judge(f"{head}{held}{body('Way(2.0).first').removeprefix(HEAD)}", None)
    assert found.passed is False
    assert "says what a field is" in found.detail
    assert found.hint


@pytest.mark.parametrize(
    "twice",
    [
        "from dataclasses import dataclass\ndef dataclass(c):\n    return c",
        "def dataclass(c):\n    return c\ndef never():\n    from dataclasses import dataclass",
        "from nki import jit\njit = lambda f: f",
        "from enum import auto\nclass auto:\n    pass",
    ],
)
def test_a_name_that_is_imported_is_nothing_else(twice: str) -> None:
    found = language.judge(f"{HEAD}{twice}\n{body('own(x)').removeprefix(HEAD)}", None)
    assert found.passed is False
    assert "is imported and something else as well" in found.detail, found.detail
    assert "Rename" in found.hint


def test_none_may_stand_for_a_module_that_could_not_be_imported() -> None:
    missing = "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
    found = language.judge(f"{HEAD}{missing}{body('own(x)').removeprefix(HEAD)}", None)
    assert "something else" not in found.detail, found.detail


@pytest.mark.parametrize("held", ["slice(0, 128)", "(slice(0, 128), slice(0, 64, 2))", "slice(P)"])
def test_slices_of_numbers_stand_at_the_top_of_a_text(held: str) -> None:
    found = language.judge(f"{HEAD}P = 128\nROWS = {held}\n{body('own(x)[ROWS]').removeprefix(HEAD)}", None)
    assert "could be changed" not in found.detail, found.detail


@pytest.mark.parametrize("kind", KEPT)
def test_whatever_could_keep_a_call_for_the_next_one_is_refused_by_its_form(kind: str) -> None:
    held, asked = KEPT[kind]
    found = language.judge(f"def own(y):\n    return y\n{HEAD}{held}\n{body(asked).removeprefix(HEAD)}", None)
    assert found.passed is False
    assert found.hint or "Mend" in found.hint, found.detail


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        ("SIZES = [1, 2]", "SIZES[0] + sum(SIZES) + len(SIZES)"),
        ("SIZES = {np.float32: 4, nl.bfloat16: 2}", "SIZES.get(x.dtype, 4) if x.dtype in SIZES else SIZES[x.dtype]"),
        ("SIZES = [n * P for n in range(3)]", "[n for n in SIZES]"),
        ("SIZES = {1, 2}\nKINDS: object = {nl.float32, nl.bfloat16}", "1 in SIZES and x.dtype not in KINDS"),
        ("SIZES = [1]\nMOST = max(SIZES)\nSTART = SIZES[0]", "MOST + START"),
        ("OPS = {'exp': nl.exp, 'own': own}", "OPS['own'](x)"),
        ("HALF = P // 2\nHALF += 1\nNAME = f'{HALF}'\nLEAST = np.finfo(np.float32).min.item()", "HALF"),
        ("SCALE = math.sqrt(2.0)\nWIDE = nl.float32 if P else np.dtype('int8')", "SCALE"),
        ("fast = nki.jit(own)", "fast(x)"),
        ("def f(y, size=(1, 2), op=nl.exp):\n    tiles = []\n    tiles.append(y)\n    return tiles", "f(x)"),
        (
            "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Plan:\n    rows: int = 1\n"
            "PLAN = Plan(rows=2)",
            "PLAN.rows",
        ),
        ("import enum\nclass Kind(enum.Enum):\n    A = enum.auto()\n    B = 2", "[k for k in Kind] + [Kind.A]"),
        (
            "class Tiles:\n    most = 4\n    def __init__(self):\n        self.n = []\n    def add(self, y):\n"
            "        self.n.append(y)\n    @staticmethod\n    def of(y):\n        return Tiles()",
            "tiles = Tiles.of(x)\n    tiles.add(Tiles.most)\n    isinstance(tiles, Tiles)",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_may_be_the_whole_texts(held: str, asked: str) -> None:
    found = language.judge(f"def own(y):\n    return y\n{HEAD}{held}\n{body(asked).removeprefix(HEAD)}", None)
    assert found.passed, found.detail
