"""Whether a text's names stand for anything that could remember an earlier call; what it cannot tell might."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any, cast

from nki_anvil.backends.worker.unordered import members

_VALUES = (int, float, complex, str, bytes, type(None), type(...), types.ModuleType, types.BuiltinFunctionType, range)
_OF_CLASSES = (types.GetSetDescriptorType, types.MemberDescriptorType)


def keeps(namespace: Mapping[str, Any]) -> bool:
    """Of a module that was executed."""
    own = namespace.get("__name__")
    return any(_may_keep(value, own) for name, value in namespace.items() if name not in ("__builtins__", "print"))


def _may_keep(value: Any, own: Any) -> bool:
    if isinstance(value, (*_VALUES, *_OF_CLASSES)):
        return False
    if isinstance(value, (tuple, frozenset)):
        parts = members(value) if isinstance(value, frozenset) else cast("Iterable[Any]", value)
        return any(_may_keep(part, own) for part in parts)
    if isinstance(value, types.FunctionType):
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        return value.__module__ == own and (bool(value.__closure__) or any(_may_keep(one, own) for one in defaults))
    if isinstance(value, type):
        return value.__module__ == own and any(_may_keep(one, own) for one in vars(value).values())
    inner = getattr(value, "__wrapped__", None)
    if isinstance(inner, types.FunctionType):
        return _may_keep(inner, own)
    return type(value).__module__.partition(".")[0] not in ("nki", "nki_anvil", "neuronxcc", "numpy", "types")
