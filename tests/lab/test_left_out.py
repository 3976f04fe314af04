"""What tracing leaves out must not make another kernel of a text for whoever imports it, and may be there otherwise."""

import pytest

from nki_anvil.lab.gates import language

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

P = nl.tile_size.pmax
SIGN = -1.0
TABLE = [1.0, 2.0]
SAME = P
SIZES = {"rows": 128}


class Config:
    depth = 2


def helper(x):
    return nisa.activation(dst=x, op=nl.exp, data=x, scale=SIGN * TABLE[0] * Config.depth)


@nki.jit
def kernel(x):
    for row in range(0, P, 64):
        helper(x)
    return x


def other(x):
    return x


def fill(table):
    table.append(3.0)


def flip():
    global SIGN
    SIGN = 1.0


def fill_ours():
    TABLE[0] = 5.0


"""

CHANGING = [
    "if True:\n    kernel = nki.jit(other)",
    "if __name__ == '__main__':\n    pass\nelse:\n    kernel = other",
    "for kernel in [nki.jit(other)]:\n    pass",
    "(kernel := nki.jit(other))",
    "with np.errstate() as SIGN:\n    pass",
    "try:\n    import fast\nexcept ImportError as SIGN:\n    pass",
    "from fast_kernels import kernel",
    "from fast_kernels import *",
    "from .pytest import fixture\n@fixture\ndef steeper():\n    global SIGN\n    SIGN = 2.0",
    "try:\n    from fast_kernels import *\nexcept ImportError:\n    pass",
    "import fast as nisa",
    "match P:\n    case SIGN:\n        pass",
    "while True:\n    def helper(x):\n        return x\n    break",
    "del SIGN",
    "TABLE[0] = 2.0",
    "TABLE[0] *= 2.0",
    "del TABLE[0]",
    "TABLE.append(3.0)",
    "SAME.append(3.0)",
    "for table in [TABLE]:\n    table.append(3.0)",
    "Config.depth = 3",
    "nl.exp = nl.sin",
    "kernel.__globals__['SIGN'] = 1.0",
    "kernel.__globals__.update(SIGN=1.0)",
    "setattr(Config, 'depth', 3)",
    "globals()['SIGN'] = 1.0",
    "exec('SIGN = 1.0')",
    "fill(TABLE)",
    "flip()",
    "fill_ours()",
    "import torch\ndrawn = torch.zeros(TABLE.pop())",
    "def g(a: (kernel := nki.jit(other)) = 1):\n    return a",
    "def g(a: TABLE.append(3.0) = 1):\n    return a",
    "import os\nif os.getenv('HOME'):\n    def g(a: (SIGN := 1.0)):\n        return a",
    "import os\nif os.getenv('HOME'):\n    WIDTHS: [w for nl.exp in (nl.sin,) for w in (1, 2)] = (1, 2)",
    "class Tile:\n    @classmethod\n    @property\n    def rows(cls):\n        SIZES.clear()\nR: Tile.rows = 128",
    "ROWS: Config.depth = 128",
    "put = TABLE.insert\nput(0, 1.0); [put]",
    "f = lambda: TABLE.insert(0, 1.0)\nif True:\n    f()",
    "list(map(TABLE.insert, [0], [1.0]))",
    "max([0], key=lambda i: TABLE.insert(i, 1.0) or 0)",
    "class Box:\n    def __repr__(self):\n        return TABLE.pop()\nBOX = Box()\nprint(BOX)",
    "class Box:\n    def __enter__(self):\n        TABLE.pop()\nBOX = Box()\nwith BOX:\n    pass",
    "def turns():\n    TABLE.pop()\n    yield\nfor _ in turns():\n    pass",
    "C = Config\nC.depth = 3",
    "h = helper\nh.__code__ = other.__code__",
    "m = nl\nif True:\n    m.exp = nl.sin",
    "import nki.language as again\nagain.exp = nl.sin",
    "for module in (nl,):\n    module.exp = nl.sin",
    "class Held:\n    table = TABLE\nHeld.table.pop()",
    "def touch(t=TABLE):\n    t[0] = 1.0\ntouch()",
    "def get():\n    return TABLE\nget()[0] = 1.0",
    "import builtins\nbuiltins.range = list",
    "__builtins__['range'] = list",
    "import sys\nsys.modules['kernel'].SIGN = 1.0",
    "import inspect\ninspect.currentframe().f_globals['SIGN'] = 1.0",
    "type.__setattr__(Config, 'depth', 3)",
    "for size in TABLE:\n    print(size)",
    "np.testing.assert_allclose(kernel(np.zeros((P, 512))), 0.0)",
    "class Ours(type):\n    pass\nclass Box(metaclass=Ours):\n    pass\ndef g(a: Box | None = None):\n    return a",
    "class Box:\n    def __class_getitem__(cls, n):\n        TABLE.pop()\ndef g(a: Box[int] = None):\n    return a",
    "BOX = Config()\ndef g(a: BOX | None = None):\n    return a",
    "(0 for _ in ()).gi_frame.f_globals.update(SIGN=1.0)",
    "assert not (0 for _ in ()).gi_frame.f_globals.update(SIGN=1.0)",
    "import os\nos.sys._getframe().f_globals.update(SIGN=1.0)",
    "import logging\nlogging.sys._getframe().f_globals.update(SIGN=1.0)",
    "__builtins__['exec']('SIGN = 1.0')",
    "import typing\ndef g(a: 'TABLE.pop()'):\n    pass\nprint(typing.get_type_hints(g))",
    "from collections.abc import Sized\nSized.register(int)",
    "np.testing.measure('SIGN = 1.0')",
    "import logging.config\nlogging.config.dictConfig({'formatters': {'a': {'()': 'b.c', 'name': __name__}}})",
    "import argparse\nPARSER = argparse.ArgumentParser()\nPARSER.parse_args(['--exp'], nl)",
    "import argparse\nPARSER = argparse.ArgumentParser()\nPARSER.add_argument('--exp', const=nl.sin)",
    "import fractions\nfractions.operator.attrgetter('__dict__')(nl).update(exp=nl.sin)",
    "import builtins\nsorted(['SIGN = 1.0'], key=builtins.exec)",
    "assert max(['SIGN = 1.0'], key=np.testing.measure)",
    "import argparse\nPARSER = argparse.ArgumentParser()\nRUN = np.testing.measure\nPARSER.add_argument('', type=RUN)",
    "import argparse\nPARSER = argparse.ArgumentParser()\nOP = nl.sin\nPARSER.add_argument('-x', const=OP)",
    "import pytest\nOP = nl.sin\npytest.MonkeyPatch().setattr('exp', OP)",
    "import pytest\nOPS = [nl.sin]\npytest.MonkeyPatch().setattr('exp', OPS)",
    "import pytest\npytest.MonkeyPatch().setattr('math.pi', -3.0)",
    "import pytest\npytest.MonkeyPatch().setattr('math' + '.pi', -3.0)",
    "import pytest\nput = pytest.MonkeyPatch().setattr\nput('%s.pi' % 'math', -3.0)",
    "from mock import patch\npatch('math' + '.pi', -3.0).start()",
    "import pytest\nL = nl\npytest.MonkeyPatch().setattr(L, 'exp', 3)",
    "import timeit\n@timeit.repeat\ndef setup():\n    TABLE.append(3.0)",
    "from timeit import repeat\nclass Box:\n    @repeat\n    def setup():\n        TABLE.append(3.0)",
    "import sys\n@sys.setprofile\ndef look(frame, event, arg):\n    TABLE.append(3.0)",
    "import json\njson.dumps({}, default=TABLE.append)",
    "LOG = []\nprint('x', file=LOG)",
    "import pathlib\npathlib.Path(__file__).write_text('')",
    "import logging\nlogging.basicConfig(filename='kernel.py', filemode='w')",
    "class Rows:\n    TABLE = TABLE\nRows.TABLE.append(3.0)",
    "m = np\nm.set_printoptions(precision=1)",
    "L = [np]\nL[0].set_printoptions(precision=1)",
    "ROWS = [TABLE]\nROWS[0].append(3.0)",
    "ROWS = [TABLE]\nROWS[0][0] = 3.0",
    "for t in (TABLE,):\n    t[0] = 3.0",
    "FILL = [TABLE.append]\nfor f in FILL:\n    f(3.0)",
    "try:\n    raise ValueError\nexcept ValueError:\n    TABLE.append(3.0)",
    "try:\n    import torch\nfinally:\n    TABLE.append(3.0)",
    "import os\nos.environ[str(TABLE.pop())] = '1'",
    "import os\nos.environ['NEURON_PLATFORM_TARGET_OVERRIDE'] = 'trn3'",
    "import os\nos.environ['NEURON_' + 'PLATFORM_TARGET_OVERRIDE'] = 'trn3'",
    "import os\nos.environ['XNEURON_PLATFORM_TARGET_OVERRIDE'[1:]] = 'trn3'",
    "import os\nos.environ.setdefault('NEURON_' + 'PLATFORM_TARGET_OVERRIDE', 'trn3')",
    "import torch\ntorch.manual_seed(TABLE.pop())",
    "import torch\n@torch.compile(mode=TABLE.pop())\ndef g(x):\n    return x",
    "if TABLE.pop():\n    pass",
    "__name__ = '__main__'\nif __name__ == '__main__':\n    kernel = other",
    "import pydantic\npydantic.TypeAdapter('int')",
    "import torch\ntorch.device('[0 for m.pi in [1]]')",
    "import torch\ntorch.jit.script(P)",
    "import torch\ntorch.set_flush_denormal(True)",
    "from torch import set_flush_denormal as quickly\nquickly(True)",
    "import torch\ntorch.nn.Linear(2, 2).apply(torch.set_flush_denormal)",
    "import jax\njax.numpy.set_printoptions(suppress=True)",
    "from pydantic_core import to_jsonable_python as len\nUNUSED = [len for len in (1,)]",
    "from sympy import Min as max",
    "import torch\n@torch.export.load\ndef g(x):\n    return x",
    "import torch\ntorch.utils.data.np.seterr()",
    "import torch\nprint([0 for torch.pi in [1]])",
    "import torch\nclass Model(torch.nn.Module):\n    rows: f(1) = 1",
    "import pydantic\nclass Sizes(pydantic.BaseModel):\n    rows: int = 1",
    "import matplotlib.pyplot as plt\nprint(plt.np)",
    "import os\nos.environ['NKI_PRECISE_FP'] = '0'",
    "import os\nHELD = max([os.environ])\nHELD['NEURON' + '_PLATFORM_TARGET_OVERRIDE'] = 'trn3'",
    "import os\nHELD = sum([], os.environ)\nHELD['NEURON' + '_PLATFORM_TARGET_OVERRIDE'] = 'trn3'",
    "vars()['__name__'] = '__main__'\nif __name__ == '__main__':\n    kernel = other",
]


@pytest.mark.parametrize("statement", CHANGING)
def test_a_left_out_statement_that_changes_what_the_kernel_reaches_is_refused_with_its_line(statement: str) -> None:
    found = language.judge(KERNEL + statement + "\n", None)
    assert found.passed is False
    assert found.code == "Language"
    assert found.line is not None
    assert found.line > KERNEL.count("\n")
    assert any(
        part in found.detail
        for part in (
            "tracing leaves",
            "is not there when",
            "may bind any name",
            "its own name",
            "metaclass",
            "could be changed",
            "given away",
            "means something",
            "a name of the text as well",
            "is not derived from",
            "more than a type",
            "is not available",
        )
    )
    assert found.hint


def test_the_refusal_says_what_is_changed_and_the_next_step() -> None:
    found = language.judge(KERNEL + "if P:\n    SIGN = 1.0\n", None)
    line = KERNEL.count("\n") + 1
    assert found.detail == f"Line {line}: `SIGN`, which the kernel uses, is changed by what tracing leaves out (if P:)."
    assert found.hint == 'Write it as plain assignments, or move it under `if __name__ == "__main__":`.'


ELSEWHERE = [
    "for row in range(3):\n    x = row",
    "for name, size in SIZES.items():\n    print(name, size)",
    "SIZES['rows'] = 256",
    "SIZES.update(rows=256)",
    "import os\nos.environ['NEURON_CC_FLAGS'] = '--verbose'",
    "for dtype in (nl.float32, nl.bfloat16):\n    print(dtype, P)",
    "import torch\nx = torch.zeros(3)\nx = x.to('cpu')\nprint(x.shape)",
    "SHAPES = [(128, 512)]\nSHAPES = SHAPES + [(32, 512)]\nSHAPES.append((64, 512))",
    "import torch\nX = torch.zeros(3).to(torch.float32)\nprint(X.shape, X.sum())",
    "import argparse\nPARSER = argparse.ArgumentParser()\nPARSER.add_argument('--rows', type=int)",
    "import torch\nROWS = nl.tile_size.pmax\nX = torch.zeros(ROWS, 2 * ROWS)",
    "import torch\nDTYPE = np.float32\nX = torch.zeros(3).numpy().astype(DTYPE)",
    "import torch\nSHAPES = [(n, torch.float32) for n in (128, 256) if n > 64]",
    "import os\nos.environ['OMP_NUM_THREADS'] = '1'",
    "import os\nos.environ.setdefault('NEURON_CC_FLAGS', '--verbose')",
    "import os\nos.environ |= {'NEURON_CC_FLAGS': '--verbose'}",
    "import sys\nsys.path.insert(0, '.')",
    "import torch\ntorch.set_default_dtype(torch.float32)",
    "with np.errstate(all='ignore'):\n    pass",
    "print(other(1.0))",
    "assert other(1.0)",
    "print(json.dumps([1j], default=lambda value: flip()))",
    "import torch\n@torch.nn.Identity().apply\ndef prepare(module):\n    flip()",
    "import torch\ntorch.nn.functional.torch.set_flush_denormal(True)",
    "import pytest\n@pytest.importorskip('timeit').repeat\ndef warm_up():\n    flip()",
    "import pytest\n@pytest.mark.skipif('flip()')\ndef test_it():\n    pass",
    "import pytest\nWHEN = 'flip()'\n@pytest.mark.skipif(WHEN, reason='none')\ndef test_it():\n    pass",
    "import pytest\n@pytest.mark.parametrize('n', [1], ids=lambda n: flip())\ndef test_it(n):\n    pass",
    "import pytest\nfor case in [pytest.param(1)]:\n    for __builtins__ in [{'int': float}]:\n        pass",
    "import torch\nclass Model(torch.nn.Module):\n    steps = flip()",
    "class Base:\n    def __init_subclass__(cls):\n        flip()\nclass Model(Base):\n    pass",
    "def __getattr__(name):\n    flip()\n    raise AttributeError(name)",
    "class Box:\n    def __class_getitem__(cls, n):\n        flip()\nif P:\n    def g(a: Box[1]):\n        pass",
    "class Box:\n    def __class_getitem__(cls, n):\n        flip()\nif P:\n    class Other:\n        a: Box[1] = 1",
    "HELD = nl.exp.__globals__\nHELD |= {'a': 1}",
    "def __dir__():\n    flip()\n    return []",
    "if P > 64:\n    def __getattr__(name):\n        flip()",
    "import logging\nlogging.basicConfig(level=logging.INFO, stream=flip())",
    "import warnings\nwarnings.showwarning = flip",
    "import warnings\nwarnings.filterwarnings(*TABLE)",
    "np.set_printoptions(formatter={'float': flip})",
    "import logging\nlogging.getLogger(__name__).addFilter(flip)",
]


@pytest.mark.parametrize("statement", ELSEWHERE)
def test_what_is_of_no_plain_form_stands_under_the_main_guard(statement: str) -> None:
    found = language.judge(KERNEL + statement + "\n", None)
    assert found.passed is False
    assert found.code == "Language"
    guarded = "".join(f"    {line}\n" for line in statement.splitlines())
    below = language.judge(f"{KERNEL}if __name__ == '__main__':\n{guarded}", None)
    assert below.passed, below.detail


@pytest.mark.parametrize(
    "statement",
    ["import torch\nX = torch.zeros(3)", "import os\nos.environ['X'] = '1'", "import torch\nDONE = [torch.ones(2)]"],
)
def test_the_cure_is_the_main_guard(statement: str) -> None:
    found = language.judge(KERNEL + statement + "\n", None)
    assert found.hint.endswith('or move it under `if __name__ == "__main__":`.')


HARMLESS = [
    "print(P, SIGN, len(SIZES), f'{SIGN}')",
    "assert P % 64 == 0, SIGN",
    "import torch\ntorch.manual_seed(0)",
    "from fast_kernels import kernel as theirs",
    "np.random.seed(0)",
    "if P > 64:\n    SHAPES = [(128, 512)]\nelse:\n    SHAPES = []",
    "def g(a: Config | None = None, *, b: 'Config' = None) -> list[Config]:\n    return a",
    "x = 3\nx += 1",
    "async def serve(x):\n    return kernel(x)",
    "try:\n    import torch\nexcept ImportError:\n    torch = None",
    "if __name__ == '__main__':\n    SIGN = 1.0\n    fill(TABLE)",
    "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        self.y = kernel(x)",
    "import logging\nLOGGER = logging.getLogger(__name__)\nLOGGER.setLevel(logging.INFO)",
    "import sys\nprint(sorted([3, 1], reverse=True), max([], default=0), file=sys.stderr, sep=', ')",
    "import contextlib\n@contextlib.contextmanager\ndef timed():\n    yield",
    "import functools\n@functools.lru_cache(maxsize=4)\ndef made(n):\n    return n",
    "import torch\nreference = lambda x: torch.nn.functional.silu(x)",
    "if P > 64:\n    WIDE = True\n    print(WIDE)",
    "import sys\nif sys.version_info >= (3, 10):\n    NEW = True",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch",
    "import typing\nif typing.TYPE_CHECKING:\n    from torch import Tensor",
    "import torch\nif torch.__version__ == '2':\n    NEW = True\nelse:\n    NEW = False",
    "np.set_printoptions(precision=3, suppress=True)",
    "import logging\nlogging.basicConfig(level=logging.INFO, format='%(message)s')",
    "import warnings\nwarnings.filterwarnings('ignore', category=DeprecationWarning)",
    "import random\nrandom.seed(0)",
    "import os\nQUICK = os.environ.get('QUICK', '0') == '1'\nprint(QUICK)",
    "SHAPES = [(128, 512)] + [(32, 512)]\nprint(SHAPES, len(SHAPES), SHAPES[0][1])",
    "import pytest\n@pytest.mark.parametrize('m', [1, pytest.param(3, marks=pytest.mark.slow)])\ndef f(m):\n    pass",
    "import pytest\nLATE = P > 64\n@pytest.mark.skipif(not LATE, reason='no chip')\ndef test_it():\n    kernel(1)",
    "import pytest\nSIZE = 3\n@pytest.fixture(scope='module', params=[SIZE, 2 * SIZE])\ndef rows(n):\n    return 1",
    "import unittest\nclass TestIt(unittest.TestCase):\n    sizes = [1, 2]\n    def test_it(self):\n        kernel(1)",
    "class Holder:\n    rows: int = 3\n    @property\n    def size(self):\n        return flip()",
    "@nki.jit\ndef another(x):\n    return x",
    "if P > 64:\n    def g(a: tuple[int, int], b: Config = None) -> list[int]:\n        return a",
    "def __private(x):\n    return open(x)",
    "__all__ = ['kernel']\n__version__ = '1'",
    "try:\n    import torch\n    FAST = True\nexcept (ImportError, OSError):\n    FAST = False",
    "import torch\n\n@torch.no_grad()\ndef reference(x: torch.Tensor):\n    return x * SIGN",
]


@pytest.mark.parametrize("statement", HARMLESS)
def test_what_leaves_the_kernel_as_it_is_may_be_left_out(statement: str) -> None:
    found = language.judge(KERNEL + statement + "\n", None)
    assert found.passed, found.detail


def test_names_that_rest_on_each_other_many_times_over_are_each_looked_at_once() -> None:
    plain = "A0 = 1\n" + "".join(f"A{n + 1} = A{n} + A{n}\n" for n in range(64))
    lists = "B0 = [1]\n" + "".join(f"B{n + 1} = [len(B{n}), B{n}[0]]\n" for n in range(64))
    found = language.judge(f"{KERNEL}{plain}{lists}print(A64, B64)\n", None)
    assert found.passed, found.detail


def test_what_the_text_binds_anew_may_have_been_bound_by_what_is_left_out() -> None:
    before = (
        "try:\n    from fast_kernels import kernel, SIGN\nexcept ImportError:\n    SIGN = None\nfrom fast import P\n"
    )
    found = language.judge(before + KERNEL, None)
    assert found.passed, found.detail


@pytest.mark.parametrize(
    "statement",
    [
        "def swap():\n    global kernel\n    kernel = bad\n\n\nDONE = swap()",
        "def g(a=(kernel := bad)):\n    return a",
        "DONE = TABLE.append(open('f'))",
        "DONE = globals().update(kernel=bad)",
        "DONE = [(probe := lambda: open('f')) for _ in (0,)]",
        "class Box:\n    global helper\n    def helper(x):\n        return open('f')",
        "DONE = [__builtins__['open']('f')]",
        "DONE = [(0 for _ in ()).gi_frame.f_globals.update(kernel=bad)]",
    ],
)
def test_what_the_text_does_to_the_kernel_when_it_is_imported_is_read_as_well(statement: str) -> None:
    found = language.judge(KERNEL + "def bad(x):\n    return open('f')\n\n\n" + statement + "\n", None)
    assert found.passed is False
    assert "not available" in found.detail


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        pytest.param("class Tile(nl.NKIObject):", True, id="the language's class"),
        pytest.param("from enum import Enum\n\n\nclass Tile(Enum):", True, id="an enumeration"),
        pytest.param(
            "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Tile:", True, id="a dataclass"
        ),
        pytest.param("def dataclass(given):\n    return given\n\n\n@dataclass\nclass Tile:", False, id="its namesake"),
        pytest.param("class Tile(Config):", False, id="what another class of the text may change"),
        pytest.param("class Tile(np.ndarray):", False, id="a module's class"),
    ],
)
def test_annotations_are_made_of_classes_that_have_no_say_in_them(header: str, accepted: bool) -> None:
    made = f"{header}\n    rows = 128\n\n\ndef sized(tile: tuple[Tile, ...] | None = None):\n    return 1.0\n\n\n"
    text = KERNEL.replace("def helper(x):", made + "def helper(x):").replace("scale=SIGN", "scale=sized() * SIGN")
    found = language.judge(text, None)
    assert bool(found.passed) is accepted, found.detail
