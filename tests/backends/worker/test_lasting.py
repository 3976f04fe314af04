"""What a text's names hold once it is loaded is nothing that a call could change, however it was made."""

import pytest

from nki_anvil import sim
from nki_anvil.backends.worker import kernel_text, lasting, rewriting
from nki_anvil.backends.worker.telling import PlaceTold
from nki_anvil.sim.errors import TraceError

HEAD = "import enum\nimport functools\nfrom dataclasses import dataclass, field\n"
SEEN = "class Seen:\n    def __init__(self):\n        self.n = 0\n    def put(self):\n        self.n += 1\n"


def loaded(text: str) -> None:
    parsed = kernel_text.parse(f"{HEAD}{text}\n\n\ndef kernel(x):\n    return x\n")
    lasting.check(rewriting.load(parsed)[0], parsed.statements)


@pytest.mark.parametrize(
    "text",
    [
        "held = sum((), [])",
        "held = {0: []}[0]",
        "held = [[0]]",
        "held = {'a': {}}",
        "held = (1, ({2},))",
        "held = bytearray(2)",
        "held = slice([0], 1)",
        "held = iter([1])",
        "held = [1].append",
        "held = functools.partial(max, (1,))",
        "def held(one=(1, [])):\n    return one",
        "def held(*, one=[]):\n    return one",
        "def made():\n    one = []\n    return lambda: one\nheld = made()",
        SEEN + "held = Seen()",
        SEEN + "held = Seen().put",
        SEEN + "@dataclass\nclass Held:\n    one: object = Seen()",
        SEEN + "class Held:\n    one = (Seen(),)",
        "class Held:\n    one = []",
        "class Held:\n    def __init__(self, one=[]):\n        self.one = one",
        "def made():\n    return []\n__author__ = made()",
        "def made():\n    return []\n__repr__ = made()",
        "def made():\n    return []\nclass Held:\n    @staticmethod\n    def __init__(one, two=made()):\n        pass",
        "def made():\n    return []\nclass Held:\n    _fields = made()",
        "def made():\n    return []\nclass Held(enum.Enum):\n    @staticmethod\n    def one(two=made()):\n        pass",
        "class Held:\n    def put(self):\n        self.n = 1\n    other = put",
        "@dataclass(frozen=True)\nclass Held:\n    one: object\nheld = Held([])",
        "@dataclass(frozen=True)\nclass Held:\n    one: int = 0\nclass More(Held):\n    pass\nheld = More()",
        "@dataclass(frozen=True)\nclass Held(ValueError):\n    one: int = 0\nheld = Held()",
        "@dataclass(frozen=True)\nclass Held:\n    one: object = field(default_factory=list)\nheld = Held()",
        "@dataclass\nclass Held:\n    one: object = field(default=1, metadata={'a': 1})",
        "class Held(enum.Enum):\n    ONE = [1]",
        "class A:\n    pass\nclass Held(A, enum.Enum):\n    ONE = 1",
        "class A(enum.Enum):\n    pass\nclass Held(A):\n    ONE = 1",
    ],
)
def test_what_a_call_could_change_is_refused(text: str) -> None:
    with pytest.raises((lasting.Lasting, rewriting.ForeignAttribute), match=r"a call could change|an attribute of"):
        loaded(text)


@pytest.mark.parametrize(
    "text",
    [
        "held = [1, (2, 'a'), None]",
        "held = {'a': 1, 'b': (2,)}",
        "if 1:\n    held = {1, 2}",
        "held: list = [n for n in range(3)]",
        "held = (1, 'a', 2.5, range(3), slice(1, 2), frozenset({1}))",
        "held = lambda one=(1, 2): one",
        "@dataclass(frozen=True)\nclass Held:\n    one: int = 1\n    two: tuple = ()\nheld = (Held(), Held(2))",
        "@dataclass\nclass Held:\n    one: list = field(default_factory=list)\n    two: int = field(default=2)",
        "class Held(enum.Enum):\n    ONE = 1\n    TWO = ('a', 2)\n    def put(self):\n        return self.value",
        "class Held(enum.IntEnum):\n    ONE = enum.auto()",
        "class Held:\n    one = 1\n    @property\n    def two(self):\n        return 2\n    @staticmethod\n"
        "    def three():\n        return 3\n    four = lambda self: 4",
        "import numpy as np\nheld = (np.float32, np.dtype('float32'), np.finfo(np.float32).min, np.float32(2))",
    ],
)
def test_what_no_call_can_change_is_held(text: str) -> None:
    loaded(text)


def test_a_text_that_no_call_has_made_tells_no_place_either() -> None:
    parsed = kernel_text.parse("def kernel(x):\n    return x\n")
    namespace = rewriting.load(parsed)[0]
    namespace["held"] = (1, (f"<{namespace['__name__']}.Own>",))
    with pytest.raises(PlaceTold):
        lasting.check(namespace, parsed.statements)


def test_no_object_of_the_language_is_held_but_kernels() -> None:
    with sim.install():
        loaded("import nki\nheld = nki.jit(lambda x: x)")
        with pytest.raises(lasting.Lasting, match="a call could change"):
            loaded("import nki.language as nl\nheld = nl.NKIObject(shape=(1,))")


@pytest.mark.parametrize("given", ["shape=(1,), __wrapped__=None", "__wrapped__=len"])
def test_no_object_of_the_language_passes_for_a_kernel_by_what_it_says_to_wrap(given: str) -> None:
    with sim.install(), pytest.raises(TraceError, match="'__wrapped__'"):
        loaded(f"import nki.language as nl\nheld = nl.NKIObject({given})")
