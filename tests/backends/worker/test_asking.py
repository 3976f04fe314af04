"""A text asks objects that are not its own for what is documented, whatever its own classes call their attributes."""

from typing import Any

import pytest

from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.backends.worker.asking import NotDocumented, check
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.isa.enums import NkiInstruction, engine
from nki_anvil.sim.kernel import jit
from nki_anvil.sim.language import tile_size
from nki_anvil.sim.tensor import NkiTensor


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        (Index(3), "moves"),
        (Index(3), "value"),
        (NkiInstruction(), "handle"),
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
