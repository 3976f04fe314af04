"""The base class that kernels derive their own configuration objects from."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final

from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction
from nki_anvil.sim.language.regions import tile_size
from nki_anvil.sim.register import VirtualRegister
from nki_anvil.sim.tensor import NkiTensor

_OF_THE_LANGUAGE: Final = (NkiTensor, VirtualRegister, NkiInstruction, type(tile_size))
"""What the stubs derive from NKIObject themselves; here that is answered, so that making one stays cheap."""


class _Keywords(type):
    """Calls a class so that a dataclass also takes keywords for plain class attributes, as NKI's parser did.

    A field that has no default and is not given is None.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        plain = _plain_attributes(cls)
        absent = dict.fromkeys(_required(cls)[len(args) :])
        named = {name: value for name, value in kwargs.items() if name not in plain}
        made = super().__call__(*args, **{**absent, **named})
        for name in filter(plain.__contains__, kwargs):
            setattr(made, name, kwargs[name])
        return made

    def __subclasscheck__(cls, kind: type) -> bool:
        return super().__subclasscheck__(kind) or (cls is NKIObject and issubclass(kind, _OF_THE_LANGUAGE))

    def __instancecheck__(cls, one: object) -> bool:
        return issubclass(one.__class__, cls)


def _required(cls: type) -> list[str]:
    """The fields of a dataclass that its generated constructor insists on, in order."""
    if not is_dataclass(cls):
        return []
    given = [one for one in fields(cls) if one.init]
    generated = [one.name for one in given] == list(inspect.signature(cls.__init__).parameters)[1:]
    return [one.name for one in given if generated and one.default is MISSING and one.default_factory is MISSING]


def _plain_attributes(cls: type) -> set[str]:
    """Names that a dataclass's constructor does not know although the class has them."""
    if not is_dataclass(cls):
        return set()
    return {name for name in dir(cls) if not name.startswith("_")} - {field.name for field in fields(cls)}


class NKIObject(metaclass=_Keywords):
    """Attributes from keywords, as the stub has it; a dataclass on top replaces this constructor."""

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if name.startswith("__"):
                raise TraceError(
                    "NKI-ARGUMENT", f"{type(self).__name__} has no attribute {name!r} to set.",
                    remedy="Give an attribute of an object of yours a name without underscores in front.",
                )  # fmt: skip
            setattr(self, name, value)
