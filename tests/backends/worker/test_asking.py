"""A text asks objects that are not its own for what is documented, whatever its own classes call their attributes."""

import contextlib
from typing import Any

import pytest

import nki_anvil.sim as sim
import nki_anvil.sim.language as nl
from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.backends.worker.asking import ClassAsked, NotDocumented, check, check_class
from nki_anvil.backends.worker.regions import PlaceAsked
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.kernel import jit as beta1_jit
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, engine
from nki_anvil.sim.kernel import Kernel, jit
from nki_anvil.sim.language import tile_size
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor
from nki_anvil.sim.tracing import ArraySpec, trace


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (Index(3), "moves"),
        (Index(3), "value"),
        (NkiInstruction((0, 0, ())), "handle"),
        (NkiTensor, "storage"),
        (jit(print), "function"),
        (engine.tensor, "mro"),
        (memoryview(b""), "obj"),
    ],
)
def test_what_stands_behind_the_languages_objects_is_not_told(value: Any, attribute: str) -> None:
    with pytest.raises(NotDocumented, match=attribute):
        check(value, attribute, "a text")


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (Index(3), "shape"),
        (NkiTensor, "reshape"),
        (engine, "tensor"),
        (engine.tensor, "value"),
        (tile_size, "pmax"),
        ([], "append"),
        (pytest, "mark"),
    ],
)
def test_what_is_documented_is(value: Any, attribute: str) -> None:
    check(value, attribute, "a text")


@pytest.mark.parametrize("asked", ["found = engine.members", "found = getattr(engine, 'members')"])
def test_an_attribute_of_the_texts_own_opens_none_of_others(asked: str) -> None:
    own = "class Own:\n    members = 1\n\n    def kept(self):\n        return self.members\n"
    text = f"import nki.isa as nisa\n{own}\ndef of(engine):\n    {asked}\n    return found\n"
    from nki_anvil import sim

    with sim.install():
        namespace, _ = rewriting.load(kernel_text.parse(f"{text}\ndef kernel(x):\n    return x\n"))
        assert namespace["Own"]().kept() == namespace["of"](namespace["Own"]()) == 1
        with pytest.raises(NotDocumented, match="members"):
            namespace["of"](engine.tensor)


@pytest.mark.parametrize("value", [nl.float32, nl.add, nl.sin, nl.sum, nl.tile_size, nl.load, jit(print)])
def test_the_type_of_what_is_a_text_or_a_function_to_nki_is_not_told(value: Any) -> None:
    with pytest.raises(ClassAsked, match=f"the type of a {type(value).__name__}, which tells NKI"):
        check_class(value)


@pytest.mark.parametrize("value", [1, 0.5, "a", (1,), [], {}, None, engine.tensor, NkiInstruction((0, 0, ()))])
def test_types_of_what_is_alike_everywhere_are(value: Any) -> None:
    check_class(value)


@pytest.mark.parametrize("question", ["type(x.dtype) == str", "type(nl.add) == type(nl.exp)", "type(own) is type(x)"])
def test_a_text_asks_no_object_of_the_language_for_a_type_of_its_own(question: str) -> None:
    with pytest.raises(ClassAsked):
        asked(f"def own():\n    return 1\n\n\ndef asks(x):\n    return {question}\n", 1, False)


ABSTRACT = "from collections.abc import Callable, Sequence, Sized\n\n\n"


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(x, Sized)",
        "isinstance(x, (int, Sequence))",
        "isinstance(x, int | Sized)",
        "issubclass(type(x), Sized)",
        "isinstance(nl.tile_size, Callable)",
        "isinstance(nl.tile_size, type)",
        "isinstance(nl.add, Callable)",
    ],
)
def test_nothing_of_the_language_is_asked_for_its_methods(question: str) -> None:
    with pytest.raises(ClassAsked):
        asked(f"{ABSTRACT}def asks(x):\n    return {question}\n", 1, False)


def test_a_kernel_asks_its_own_objects_for_theirs() -> None:
    question = "isinstance([x], Sequence) and not isinstance(1, Sized) and not isinstance(x, (int, list))"
    assert asked(f"{ABSTRACT}def asks(x):\n    return {question}\n", 1, False)


def test_a_dtype_is_a_text() -> None:
    assert asked("def asks(x):\n    return nl.DType is str and isinstance(x.dtype, nl.DType)\n", 1, False)


ON_CHIP = "def asks(x):\n    return x.buffer == nl.sbuf or x.buffer in (nl.sbuf, nl.psum) or x.buffer is None\n"
ASKING = [
    "x.buffer == nl.shared_hbm",
    "x.buffer != nl.private_hbm",
    "nl.shared_hbm == x.buffer",
    "x.buffer in (nl.sbuf, nl.shared_hbm)",
    "x.buffer == y.buffer",
    "getattr(x, 'buffer') == nl.shared_hbm",
    "{nl.shared_hbm: 1}[x.buffer]",
    "x.buffer.name == 'shared_hbm'",
    "nl.ndarray(x.shape, dtype=x.dtype, buffer=x.buffer).buffer == y.buffer",
    "[nl.shared_hbm].index(x.buffer)",
]


@pytest.mark.parametrize("beta1", [False, True])
@pytest.mark.parametrize("question", ASKING)
def test_in_which_hbm_a_tensor_lies_is_told_to_nobody(question: str, beta1: bool) -> None:
    with pytest.raises(PlaceAsked, match="asks in which HBM"):
        asked(f"def asks(x, y):\n    return {question}\n", 2, beta1)


def test_what_stands_for_a_region_is_one_for_whoever_asks() -> None:
    with pytest.raises(PlaceAsked, match="asks in which HBM"):
        asked("def asks(x, y):\n    return isinstance(x.buffer, nl.MemoryRegion) and x.buffer != y.buffer\n", 2, False)


@pytest.mark.parametrize("beta1", [False, True])
def test_whether_a_tensor_is_on_chip_is_told_and_its_memory_is_handed_on(beta1: bool) -> None:
    assert not asked(ON_CHIP, 1, beta1)
    like = "def asks(x):\n    return nl.ndarray(x.shape, dtype=x.dtype, buffer=x.buffer)\n"
    assert asked(like, 1, beta1).buffer is MemoryRegion.shared_hbm
    chip = "def asks(x):\n    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf).buffer == nl.sbuf\n"
    assert asked(chip, 1, beta1)


def asked(text: str, count: int, beta1: bool) -> Any:
    """What a text's function answers for so many inputs of a kernel; what it raises comes through."""
    language = "neuronxcc.nki.language" if beta1 else "nki.language"
    with sim.install("0.7", beta1=beta1):
        namespace, _ = rewriting.load(kernel_text.parse(f"import {language} as nl\n{text}"))
        found: list[Any] = []

        def kernel(*given: Any) -> Any:
            try:
                found.append(namespace["asks"](*given))
            except (PlaceAsked, ClassAsked) as refused:
                found.append(refused)
            return given[0]

        asks: Any = beta1_jit(kernel) if beta1 else Kernel(kernel)
        with contextlib.suppress(TraceError):
            trace(asks, *[ArraySpec((128, 64), "float32")] * count)
    if isinstance(found[0], PlaceAsked | ClassAsked):
        raise found[0]
    return found[0]
