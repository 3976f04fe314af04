"""What a text may ask objects for that are not of its own classes: of the language's what NKI documents.

Behind other attributes stands what traces, checks and remembers: the file's name, counters, what is shared by calls.
No list of names in a text could say as much, for a class of the text may have any name among its own.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, cast

from nki_anvil.backends.worker import regions, telling
from nki_anvil.backends.worker.absent import Absent
from nki_anvil.sim.array_dtypes import ArrayDType


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DOCUMENTED: Final = words("""
    shape dtype ndim size itemsize buffer strides offset T p x y z w start step num num_elem
    reshape broadcast broadcast_to expand_dim expand_dims squeeze_dim reshape_dim flatten_dims permute rearrange ap
    reinterpret_cast view slice select vector_select indirect get_pattern is_contiguous is_indirect astype assert_shape
    depends_on with_schedule alloc mod_alloc auto_alloc min max eps bits tiny smallest_normal
""")
"""Of tensors and tiles, grids, slices, instructions, kernels, allocators and formats. Source: NKI's reference. Not what
a tensor is called: an input has the name that whoever calls the kernel gives it."""
_ABSTRACT: Final = words("collections.abc typing typing_extensions numbers")
"""Modules of classes that are whatever has certain methods."""
_MEMBERS: Final = words("name value")
_CLASSES: Final = words("NkiTensor Tile VirtualRegister NkiScalar NkiInstruction")
"""Whose objects a text may ask for their type, beside those of enumerations and of its own classes."""
HIDDEN: Final = words("""
    func args keywords base data flags setflags resize put metadata newbyteorder byteswap descr fields flat send throw
    close fget fset fdel getter setter deleter default default_factory obj add_note with_traceback signature types
    reduceat accumulate outer at resolve_dtypes dot matmul
""")
"""Attributes of Python's and NumPy's objects in which a call can be kept, which hand out what they were made of, or
which sum in an order that the number of threads decides."""


class NotDocumented(Exception):
    """A text asks an object that is not its own for what stands behind it."""

    code = "AttributeUnavailable"
    remedy = "Ask tensors for what NKI documents: shape, dtype, buffer, their views."

    def __init__(self, kind: type, attribute: str) -> None:
        super().__init__(f"`{attribute}` of `{kind.__name__}` is not available in a kernel.")


class ClassAsked(Exception):
    """A text asks for the class of what is a text or a function to NKI, or of what no page gives a class."""

    code = "TraceUnstable"
    remedy = "Compare dtypes with those of nl, and operators and functions with one another."

    def __init__(self, kind: type) -> None:
        super().__init__(f"The kernel asks for the type of a {kind.__name__}, which tells NKI from its simulator.")


def asking(module: str) -> Callable[[Any, str], Any]:
    """What stands for an attribute behind a dot, in the text of that name. Raises NotDocumented."""

    def asked(value: Any, attribute: str) -> Any:
        check(value, attribute, module)
        return regions.veiled(getattr(value, attribute), value)

    return asked


def check(value: Any, attribute: str, module: str) -> None:
    """Raises NotDocumented; PlaceTold where an operator made an array of other things than numbers."""
    telling.check_numbers(value)
    itself = isinstance(value, type)
    kind = cast("type[Any]", value if itself else type(value))
    if kind.__module__ != module and not _may(kind, attribute, itself):
        raise NotDocumented(kind, attribute)


def check_class(value: Any) -> None:
    """Raises ClassAsked, for a function as well: NKI's operators are functions, and those of the simulator are not."""
    kind = cast("type[Any]", type(value))
    ours = f"{kind.__module__}.".startswith(telling.LANGUAGE)
    known = issubclass(kind, Enum) or kind.__name__ in _CLASSES
    if (ours and not known) or isinstance(value, types.FunctionType):
        raise ClassAsked(kind)


def check_instance(value: Any, kinds: Any) -> None:
    """Raises ClassAsked for a dtype of Beta 1, which is an object of NumPy's there, and where something of the language
    is asked whether it is one of Python's abstract classes: methods decide that, of which no page tells."""
    kind = cast("type[Any]", value if isinstance(value, type) else type(value))
    ours = f"{kind.__module__}.".startswith(telling.LANGUAGE) or isinstance(value, types.FunctionType)
    if isinstance(value, ArrayDType) or (ours and any(map(_is_abstract, _each(kinds)))):
        raise ClassAsked(kind)


def _each(kinds: Any) -> Iterator[Any]:
    if isinstance(kinds, tuple | types.UnionType):
        for one in cast("tuple[Any, ...]", kinds if isinstance(kinds, tuple) else kinds.__args__):
            yield from _each(one)
    else:
        yield kinds


def _is_abstract(kind: Any) -> bool:
    return kind is type or getattr(kind, "__module__", "") in _ABSTRACT


@functools.cache
def _may(kind: type[Any], attribute: str, itself: bool) -> bool:
    if issubclass(kind, ArrayDType):
        return attribute == "itemsize"
    if kind is Absent or not f"{kind.__module__}.".startswith(telling.LANGUAGE):
        return attribute not in HIDDEN or kind is types.ModuleType
    if issubclass(kind, Enum):
        return attribute in kind.__members__ or (attribute in _MEMBERS and not itself)
    if issubclass(kind, str):
        return attribute in _DOCUMENTED or hasattr(str, attribute)
    return attribute in _DOCUMENTED or _is_namespace(kind)


def _is_namespace(kind: type) -> bool:
    """Whether its public attributes are members of the language: sizes of tiles, and those that a version has."""
    return kind.__name__ in ("_TileSize", "_Restricted")
