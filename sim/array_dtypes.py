"""Number formats as kernels of Beta 1 see them.

There a tensor's dtype is NumPy's, and those of the language are NumPy's types, or dtypes where NumPy has no type. They
answer what these would answer alike, whichever of them is asked. Sources: the stubs of nki.language up to SDK 2.26.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn, cast

import numpy as np

from nki_anvil.sim.errors import TraceError


class DTypeAsked(TraceError, TypeError):
    """A kernel of Beta 1 asks a dtype what types of NumPy's, its dtypes and texts answer differently.

    Also a TypeError, as NumPy has it who finds that it cannot look a dtype up, and reads it instead.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            "NKI-DTYPE", f"A dtype {what}, and those of Beta 1 are NumPy's.",
            remedy="Compare it by == or `in` with nl.float32 or other dtypes of nl, listed or in a tuple, or pass it as"
            " dtype=.",
        )  # fmt: skip


class ArrayDType:
    """A tensor's format: it equals other dtypes of the language and NumPy's that store it, has a size, and no more."""

    __slots__ = ("_format", "_stored")
    _format: str
    _stored: np.dtype[Any]

    def __init__(self, name: str, stored: np.dtype[Any]) -> None:
        object.__setattr__(self, "_format", name)
        object.__setattr__(self, "_stored", stored)

    @property
    def format(self) -> str:
        """Its name, for the simulator."""
        return self._format

    @property
    def dtype(self) -> np.dtype[Any]:
        """What NumPy reads where it is given one as ``dtype=``."""
        return self._stored

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._stored.itemsize

    def __eq__(self, other: object) -> bool:
        """Raises DTypeAsked for what is neither a dtype nor nothing."""
        if isinstance(other, ArrayDType):
            return self._format == other.format
        if other is None:
            return False
        if isinstance(other, np.dtype) and cast("np.dtype[Any]", other).type is np.void:
            raise DTypeAsked("is compared with bytes of no format")
        if isinstance(other, np.dtype) or (isinstance(other, type) and issubclass(other, np.generic)):
            return self._is_stored_as(other)
        kind: type[Any] = cast("Any", type(cast("object", other)))
        raise DTypeAsked(f"is compared with a {kind.__name__}")

    def _is_stored_as(self, other: Any) -> bool:
        from nki_anvil.sim.dtypes import name_of

        try:
            return self._format == name_of(other)
        except (KeyError, TypeError):
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        """What ``dtype or x.dtype`` asks."""
        return True

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # for which Python and NumPy look
            raise AttributeError(name)
        raise DTypeAsked(f"is asked for `{name}`")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise DTypeAsked(f"is given `{name}`")

    def __hash__(self) -> int:
        """Raises DTypeAsked: NumPy's type and its dtype are equal, and a table finds the one by the other nowhere."""
        raise DTypeAsked("is looked up in a table or a set")

    def _written(self, *_: object) -> NoReturn:
        raise DTypeAsked("is written as text")

    def _ordered(self, _: object) -> NoReturn:
        raise DTypeAsked("is asked for its order")

    def _gone_through(self, *_: object) -> NoReturn:
        raise DTypeAsked("is asked for its length or its parts")

    __repr__ = __str__ = __format__ = _written
    __lt__ = __le__ = __gt__ = __ge__ = _ordered
    __len__ = __iter__ = __getitem__ = __contains__ = _gone_through


class NamedDType(ArrayDType):
    """A format by its name in the language, which has no size where it is a type of NumPy's."""

    __slots__ = ()

    @property
    def itemsize(self) -> int:
        """Bytes of one element. Raises DTypeAsked."""
        if self._stored.isbuiltin == _OF_NUMPY:
            raise DTypeAsked("of the language is asked for its size, which a tensor's has")
        return self._stored.itemsize

    def __hash__(self) -> int:
        """As what it stands for there, so that NumPy's types are found where they are equal."""
        return hash(self._stored.type if self._stored.isbuiltin == _OF_NUMPY else self._stored)


_OF_NUMPY: Final = 1
"""What ``isbuiltin`` says of a dtype for which the language has NumPy's type."""
