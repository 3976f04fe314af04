"""What a call leaves behind in the names of its module is told by name; what it only looked at is not."""

from typing import Any

import pytest

from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.backends.worker.keeping import Held
from nki_anvil.sim.modules import install

LEAVES = {
    "a list": ("CALLS = []", "CALLS.append(0)"),
    "a dictionary under another name": ("SEEN = {'a': 1}", "SEEN['b'] = SEEN.pop('a')"),
    "a default": ("def helper(calls=[]):\n    calls.append(0)", "helper()"),
    "a default by name": ("def helper(*, calls=[]):\n    calls.append(0)", "helper()"),
    "an object": ("class Box:\n    def put(self):\n        self.full = 1\nBOX = Box()", "BOX.put()"),
    "an object's slot": (
        "class Box:\n    __slots__ = ('n',)\n    def put(self, n):\n        self.n = n\nBOX = Box()",
        "BOX.put(1)",
    ),
    "a list in a class": ("class Box:\n    calls = []", "Box.calls.append(0)"),
    "a list in a class that is called as Python's own": ("class Box:\n    _abc_impl = []", "Box._abc_impl.append(0)"),
    "a dictionary in one": ("class Box:\n    _abc_impl = {}", "Box._abc_impl['a'] = 1"),
    "a closure": (
        "def make():\n    calls = []\n    def helper():\n        calls.append(0)\n    return helper\nhelper = make()",
        "helper()",
    ),
    "a variable around": (
        "def make():\n    n = 0\n    def helper():\n        nonlocal n\n        n = n + 1\n    return helper\n"
        "helper = make()",
        "helper()",
    ),
    "a list in a tuple": ("NESTED = (1, ([],))", "NESTED[1][0].append(0)"),
    "an array": ("import numpy as np\nSTATE = np.zeros(2)", "STATE[0] += 1"),
    "a method of a list": ("TAKE = [1, 2].pop", "TAKE()"),
    "a method of a dictionary": ("KEEP = {}.setdefault", "KEEP('a', 1)"),
    "a counter": ("import itertools\nCOUNT = itertools.count()", "next(COUNT)"),
    "an iterator": ("TURNS = iter([1, 2])", "next(TURNS)"),
    "a generator": ("TURNS = (turn for turn in range(3))", "next(TURNS)"),
    "a generator's variable": (
        "def turns():\n    n = 0\n    while True:\n        yield n\n        n += 1\nTURNS = turns()\nnext(TURNS)\n"
        "FIRST = next(TURNS)",
        "next(TURNS)",
    ),
    "what a cache holds": (
        "import functools\n@functools.cache\ndef box(n):\n    return [n]",
        "box(0).append(0)",
    ),
    "a partial's argument": (
        "import functools\ndef put(box):\n    box.append(0)\nPUT = functools.partial(put, [])",
        "PUT()",
    ),
    "a number with a class of its own": ("class N(int):\n    pass\nBOX = [N(1)]\nOTHER = N(2)", "BOX[0] = OTHER"),
    "an object in a slice": ("PART = slice([], None)", "PART.start.append(0)"),
    "a list behind typing's alias": (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\ndef make():\n    class Box(Generic[T]):\n"
        "        calls = []\n    return Box[int]\nALIAS = make()",
        "ALIAS.calls.append(0)",
    ),
    "a list within one of the language's objects": (
        "import nki.collectives\nGROUP = nki.collectives.ReplicaGroup([[0]])",
        "GROUP.arguments[0][0].append(0)",
    ),
    "a byte of a boolean": ("import numpy as np\nDONE = np.ones(1, dtype=bool)", "DONE.view('u1')[:] += 1"),
    "the payload of what is no number": (
        "import numpy as np\nBLANK = np.full(1, np.nan, dtype=np.float32)",
        "BLANK.view('u4')[:] += 1",
    ),
    "which of two that are no numbers": ("HERE = [float('nan')]", "HERE[0] = float('nan')"),
    "an array's flags": ("import numpy as np\nSTATE = np.zeros(2)", "STATE.setflags(write=False)"),
    "the array behind a view": ("import numpy as np\nPART = np.zeros(2)[:1]", "PART.base[1] = 1"),
    "what a dtype carries": (
        "import numpy as np\nKIND = np.dtype('f4', metadata={'n': []})",
        "KIND.metadata['n'].append(1)",
    ),
    "which slot is full": (
        "class Ring:\n    __slots__ = ('a', 'b')\n    def __init__(self):\n        self.a = True\nRING = Ring()",
        "RING.b = RING.a; del RING.a",
    ),
    "a number of NumPy's": ("import numpy as np\nCOUNT = [np.float32(1.5)]", "COUNT[0] = COUNT[0] + np.float32(1)"),
    "an attribute named like one of Python's": ("class Turns:\n    _abc_impl = []", "Turns._abc_impl.append(1)"),
    "which of two lists that look alike": ("LISTS = [[], []]\nHERE = [LISTS[0]]", "HERE[0] = LISTS[1]"),
    "which of two objects that look alike": (
        "class Box:\n    size = 1\nBOXES = [Box(), Box()]\nHERE = [BOXES[0]]",
        "HERE[0] = BOXES[1]",
    ),
    "which of two functions that look alike": (
        "def made():\n    return lambda n: n\nHERE = [made()]\nOTHER = made()",
        "HERE[0] = OTHER",
    ),
    "the order of an ordered dictionary": (
        "from collections import OrderedDict\nTURNS = OrderedDict(a=1, b=2)",
        "TURNS.move_to_end('a')",
    ),
    "a deque": ("from collections import deque\nTURNS = deque([1, 2])", "TURNS.rotate()"),
    "a jitted helper's default": (
        "import nki\n@nki.jit\ndef helper(calls=[]):\n    return calls",
        "helper.__wrapped__.__defaults__[0].append(0)",
    ),
}
LEAVES_NOTHING = {
    "a list read": ("SIZES = [1, 2]", "SIZES[0]"),
    "an object made": ("class Box:\n    def __init__(self, n):\n        self.n = n", "Box(3).n"),
    "a cache that answers": ("import functools\n@functools.cache\ndef half(n):\n    return n // 2", "half(4), half(6)"),
    "a bounded cache": (
        "import functools\n@functools.lru_cache(maxsize=1)\ndef pair(n):\n    return n, 'x'",
        "pair(4), pair(6)",
    ),
    "a bounded cache that is asked by an object": (
        "import functools\nclass Key:\n    rows = 1\n@functools.lru_cache\ndef rows(key):\n    return key.rows",
        "rows(Key())",
    ),
    "an enumeration's combination": (
        "import enum\nclass Kind(enum.Flag):\n    A = 1\n    B = 2",
        "Kind.A | Kind.B",
    ),
    "what a dataclass makes": (
        "import dataclasses\n@dataclasses.dataclass\nclass Box:\n    n: int = 1\n    m: list = dataclasses.field("
        "default_factory=list)",
        "Box().m.append(1)",
    ),
    "a number of many digits": ("MANY = 1 << 20000", "MANY"),
    "a set": ("NAMES = {'a', 'b'}", "'a' in NAMES"),
    "numbers, texts and tuples": ("P, NAME, SIZES = 128, 'x', (1, (2.0, None))", "P"),
}


def loaded(text: str) -> dict[str, Any]:
    with install():
        return rewriting.load(kernel_text.parse(text + "\n\n\ndef kernel(x):\n    return x\n"))[0]


def left_behind(text: str, call: str) -> list[str]:
    namespace = loaded(text)
    before = Held(namespace)
    exec(call, {**namespace})
    return Held(namespace).changed(before)


@pytest.mark.parametrize("kind", LEAVES)
def test_what_a_call_leaves_behind_is_told_by_name(kind: str) -> None:
    assert left_behind(*LEAVES[kind])


@pytest.mark.parametrize("kind", LEAVES_NOTHING)
def test_what_a_call_only_looks_at_or_makes_for_itself_is_not(kind: str) -> None:
    assert left_behind(*LEAVES_NOTHING[kind]) == []


def called_again(text: str, call: str) -> list[str]:
    namespace = loaded(text)
    exec(call, {**namespace})
    before = Held(namespace, caches=True)
    exec(call, {**namespace})
    return Held(namespace, caches=True).changed(before)


KEY = """class Key:
    def __init__(self, log):
        self.log = log
    def __hash__(self):
        return 7
    def __eq__(self, other):
        return self is other
"""


def test_a_cache_that_is_asked_something_new_at_each_call_is_told() -> None:
    text = f"import functools\n@functools.cache\ndef one(key):\n    return 1.0\n{KEY}"
    assert called_again(text, "one(Key([]))") == ["one", "Key"]
    assert called_again(text, "one(3), one('x')") == []


def test_which_answer_a_bounded_cache_forgets_next_is_told() -> None:
    text = "import functools\n@functools.lru_cache(maxsize=2)\ndef one(key):\n    return key\n"
    assert called_again(text, "one('a'), one('b')") == []
    namespace = loaded(text)
    exec("one('a'), one('b')", {**namespace})
    before = Held(namespace, caches=True)
    exec("one('a')", {**namespace})
    assert Held(namespace, caches=True).changed(before) == ["one"]


def test_forms_that_typing_forgets_one_for_another_are_told() -> None:
    count = "from typing import Literal\nFIRST = [Literal[n] for n in range(9)]\nN = [0]"
    assert called_again(count, "from typing import Literal; Literal[1], Literal[2]") == []
    assert called_again(count, "N.append(1); Literal[100 + len(N)]") == ["N", "typing"]


def test_an_object_that_somebody_else_keeps_is_told() -> None:
    text = f"from typing import Literal\n{KEY}"
    assert set(called_again(text, "Literal[Key([]), 1]")) == {"typing", "Key"}
    assert called_again(text, "Key([]).log.append(1)") == []


def test_a_class_that_says_it_is_of_another_module_is_looked_into() -> None:
    text = "from collections import namedtuple\nBox = namedtuple('Box', 'items', defaults=[[]], module='numpy')"
    assert left_behind(text, "Box._field_defaults['items'].append(0)") == ["Box"]


def test_names_apart_from_the_kernel_are_not_looked_at() -> None:
    namespace = loaded("TURNS = []")
    before = Held(namespace, apart=["TURNS"])
    namespace["TURNS"].append(0)
    assert Held(namespace, apart=["TURNS"]).changed(before) == []


def test_a_cache_may_have_done_more_than_it_shows() -> None:
    assert Held(loaded("import functools\n@functools.cache\ndef half(n):\n    return n // 2")).unseen
    assert not Held(loaded("import math\nSIZES = [1]\n\ndef half(n):\n    return math.ceil(n / 2)")).unseen


def test_a_module_is_called_otherwise_each_time_it_is_executed() -> None:
    names = {loaded("P = 1")["__name__"] for _ in range(8)}
    assert len(names) == 8
    assert not any("kernel" in name or "anvil" in name for name in names)
