"""What the compilers that parsed kernels did not take is found in the text, by version."""

import textwrap

import pytest

from nki_anvil.sim.subset import findings
from nki_anvil.sim.versions import VERSIONS

PARSED = ("0.3", "0.4", "0.5", "0.6")
BEFORE_TRACING = ("0.2", *PARSED)
PLAIN = """
@nki.jit
def kernel(x, scale=1.0):
    sizes = {"rows": 128}
    for i in range(4):
        if i == 2 and scale != 1.0:
            continue
    with nl.no_reorder():
        nisa.memset(x, 0.0)
    return [part for part in (x, x)]
"""


def found(text, version, entry=None):
    return [(finding.code, finding.severity, finding.line) for finding in findings(text, version, entry)]


def body(*lines):
    return "@nki.jit\ndef kernel(x):\n" + textwrap.indent("\n".join(lines), "    ") + "\n    return x\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plain_kernel_is_taken_by_every_version(version):
    assert findings(PLAIN, version) == ()


@pytest.mark.parametrize(
    ("text", "code", "severity", "line", "objecting"),
    [
        ("@nki.jit\ndef kernel(x, *, flag=True):\n    return x\n", "KWONLY", "error", 2, PARSED),
        ("@nki.jit\ndef kernel(x, stride=[1, 1]):\n    return x\n", "LIST", "error", 2, PARSED),
        (body("y = x", "z = y is None"), "IS", "warning", 4, PARSED),
        (body("def parts():", "    yield x", "for part in parts():", "    pass"), "YIELD", "error", 4, BEFORE_TRACING),
        (body("total = sum(i for i in range(3))"), "YIELD", "error", 3, BEFORE_TRACING),
        (body("table = {1: x}"), "KEY", "warning", 3, BEFORE_TRACING),
        (body("with open(x):", "    pass"), "WITH", "warning", 3, BEFORE_TRACING),
        (body("pick = lambda t: t"), "PYTHON", "warning", 3, BEFORE_TRACING),
        (body("helper(x)") + "@nki.jit\ndef helper(x):\n    pass\n", "NESTED", "error", 3, BEFORE_TRACING),
        (body("y = Tile()") + "class Tile(Base):\n    pass\n", "CLASS", "warning", 5, BEFORE_TRACING),
    ],
)
def test_a_construct_is_found_in_the_versions_that_object(text, code, severity, line, objecting):
    for version in VERSIONS:
        expected = [(f"NKI-SUBSET-{code}", severity, line)] if version in objecting else []
        assert found(text, version) == expected


ENUMERATION = """
class Mode(Enum):
    FIRST = 1
    SECOND = {second}

@nki.jit
def kernel(x):
    return Mode.SECOND
"""
AFTERWARDS = """
{decorator}
class Plan(nl.NKIObject):
    size: int = 1
    def __post_init__(self):
        self.size = 2

@nki.jit
def kernel(x):
    return Plan()
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENUMERATION.format(second="1"), "NKI-SUBSET-ALIAS"),
        (ENUMERATION.format(second="FIRST"), "NKI-SUBSET-ALIAS"),
        (ENUMERATION.format(second="1.0"), "NKI-SUBSET-ALIAS"),
        (ENUMERATION.format(second="True"), "NKI-SUBSET-ALIAS"),
        (ENUMERATION.format(second="auto()"), "NKI-SUBSET-ALIAS"),
        (ENUMERATION.format(second="len('a')"), "NKI-SUBSET-ALIAS"),
        (ENUMERATION.format(second="1").replace("SECOND =", "SECOND: int ="), "NKI-SUBSET-ALIAS"),
        (
            ENUMERATION.format(second="1").replace("    return Mode", "    return PAIR[0]\n\nPAIR = (Mode,)  #"),
            "NKI-SUBSET-ALIAS",
        ),
        (ENUMERATION.format(second="2"), None),
        (ENUMERATION.format(second="'second'"), None),
        (ENUMERATION.format(second="auto()").replace("FIRST = 1", "FIRST = auto()"), None),
        (AFTERWARDS.format(decorator=""), "NKI-SUBSET-INIT"),
        (AFTERWARDS.format(decorator="@dataclass(init=False)"), "NKI-SUBSET-INIT"),
        (AFTERWARDS.format(decorator="@dataclass"), None),
        (AFTERWARDS.format(decorator="@dataclass(frozen=True)"), None),
    ],
)
def test_classes_that_older_compilers_take_otherwise_are_refused_there(version: str, text: str, code: str | None):
    expected = {code} if code and version in BEFORE_TRACING else set()
    assert {finding.code for finding in findings(text, version) if finding.severity == "error"} == expected


def test_dynamic_range_is_deprecated_in_the_last_version_that_has_it():
    text = body("for i in nl.dynamic_range(4):", "    pass")
    assert found(text, "0.6") == [("NKI-DEPRECATED", "warning", 3)]
    assert found(text, "0.5") == found(text, "0.7") == []


def test_what_release_notes_say_of_loops_on_the_device_is_a_warning_in_those_versions():
    loop = body("for i in nl.dynamic_range(4):", "    pass")
    nested = body("for i in nl.dynamic_range(4):", "    for j in nl.dynamic_range(4):", "        pass")
    assert found(loop, "0.2") == found(loop, "0.3") == [("NKI-KNOWN-ISSUE", "warning", 3)]
    assert found(loop, "0.4") == []
    assert found(nested, "0.4") == found(nested, "0.5") == [("NKI-KNOWN-ISSUE", "warning", 4)]
    assert found(nested, "0.7") == []


def test_only_what_the_entry_reaches_counts():
    unreached, helper = "def other():\n    yield 1\n\n", "def helper(x):\n    return x is x\n\n"
    text = unreached + helper + "def kernel(x, *, y=1):\n    return helper(x)\n"
    assert found(text, "0.4", "kernel") == [
        ("NKI-SUBSET-IS", "warning", 5),
        ("NKI-NO-JIT", "warning", 7),
        ("NKI-SUBSET-KWONLY", "error", 7),
    ]
    assert found(text, "0.4") == []  # nothing is jitted


def test_text_that_does_not_parse_is_for_others_to_say():
    assert findings("def kernel(:", "0.4") == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kernel_that_the_vendors_toolchain_would_not_know_is_warned_of_in_every_version(version):
    bare = body("pass").removeprefix("@nki.jit\n")
    assert found(bare, version, "kernel") == [("NKI-NO-JIT", "warning", 1)]
    for decorator in ("@nki.jit", "@jit", "@nki.jit(mode='auto')"):
        assert found(f"{decorator}\n{bare}", version, "kernel") == []
    assert found(bare.replace("kernel", "body_of") + "kernel = nki.jit(body_of)\n", version, "kernel") == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_print_that_the_kernel_reaches_is_warned_of_in_every_version(version):
    helper = "def helper(x):\n    print(x.shape)\n\n"
    assert found(helper + body("helper(x)"), version, "kernel") == [("NKI-PRINT", "warning", 2)]
    assert found(helper + body("x.print()"), version, "kernel") == []


def test_what_is_imported_under_another_name_counts_as_what_it_is():
    text = "from enum import Enum as Kind\nfrom nki import jit as entry\nclass Way(Kind):\n    A = 1\n    B = 1\n\n"
    text += "@entry\ndef kernel(x):\n    return Way.A == Way.B\n"
    assert found(text, "0.6", "kernel") == [("NKI-SUBSET-ALIAS", "error", 5)]
    assert found(text.replace("B = 1", "B = 2"), "0.6", "kernel") == []
