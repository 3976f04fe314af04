"""The emulated module tree: ``nki`` and its submodules in ``sys.modules``, for as long as a context manager is open."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, cast

from nki_anvil.sim import compiler, isa, language, typing, versions
from nki_anvil.sim.absent import missing
from nki_anvil.sim.dtypes import DType
from nki_anvil.sim.earlier import adapted
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa import enums
from nki_anvil.sim.kernel import jit, simulated

_FOREIGN: Final = ("nki", "neuronxcc")
_UNIMPORTABLE: Final = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>(?:nki|neuronxcc)[\w.]*)'")


class _Restricted:
    """An object of a module without the attributes that a version lacks."""

    def __init__(self, name: str, whole: Any, version: str) -> None:
        self._name, self._whole, self._version = name, whole, version

    @property
    def __class__(self) -> type[Any]:  # pyright: ignore[reportIncompatibleMethodOverride] (whoever asks only reads)
        return cast("type[Any]", type(self._whole))

    def __getattr__(self, attribute: str) -> Any:
        if explained := versions.explanation(self._name, attribute, self._version):
            raise explained
        return getattr(self._whole, attribute)


def _module(name: str, public: Mapping[str, Any], version: str) -> ModuleType:
    module = ModuleType(name, f"{name}, emulated as of NKI {version}.")
    there = {key: value for key, value in public.items() if not versions.lacks(name, key, version)}
    module.__dict__.update({key: adapted(f"{name}.{key}", value, version) for key, value in there.items()})
    known = sorted(there)

    def absent(attribute: str) -> Any:
        raise missing(name, attribute, known, version)

    module.__dict__["__getattr__"] = absent
    return module


def _public(source: ModuleType) -> dict[str, Any]:
    return {name: getattr(source, name) for name in source.__all__}


@functools.cache
def _sizes(version: str) -> _Restricted:
    """One object in every installation: kernels may ask which of them something is."""
    return _Restricted("nki.language.tile_size", language.tile_size, version)


def emulated(version: str = versions.CURRENT) -> dict[str, ModuleType]:
    """A fresh module tree as one version has it, by full name; each is an attribute of its parent."""
    constants = {name: getattr(isa, name) for name in dir(enums) if name in isa.__all__}
    contents = {
        "nki": {"jit": jit, "simulate": simulated},
        "nki.dtype": {name: one for name, one in vars(language).items() if isinstance(one, DType)},
        "nki.language": {**_public(language), "tile_size": _sizes(version)},
        "nki.isa": _public(isa),
        "nki.isa.constants": constants,
        "nki.typing": _public(typing),
        "nki.compiler": _public(compiler),
        "nki.collectives": {"ReplicaGroup": typing.ReplicaGroup},
    }
    tree = {name: _module(name, public, version) for name, public in contents.items()}
    for name, module in tree.items():
        parent, _, child = name.rpartition(".")
        module.__path__ = []
        if parent:
            setattr(tree[parent], child, module)
    return tree


def import_failure(error: BaseException) -> TraceError | None:
    """What a failed ``from nki.language import name`` would have said as ``nki.language.name``, else None."""
    found = _UNIMPORTABLE.match(str(error)) if isinstance(error, ImportError) else None
    try:
        return found and getattr(sys.modules[found["module"]], found["name"])
    except TraceError as explained:
        return explained


def sign_as_nki() -> None:
    """Let the classes of the emulation say that they are of ``nki``, for as long as this process lives.

    A kernel that asks in whose text the emulation's name stands would be another one on a device.
    """
    ours = __name__.partition(".")[0]
    held = [vars(module) for name, module in [*sys.modules.items()] if name.partition(".")[0] == ours]
    for one in [value for names in held for value in [*names.values()] if isinstance(value, type)]:
        if one.__module__.partition(".")[0] == ours:
            one.__module__ = "nki"


@contextmanager
def install(version: str = versions.CURRENT, *, beta1: bool = True) -> Generator[None]:
    """Provide the emulated modules of one NKI version in this process, and make it the version that kernels are traced
    under where none is named; whatever was imported under their names before comes back after.
    Without ``beta1``, ``neuronxcc`` is not there, and what it needs is not loaded.
    """
    token = versions.INSTALLED.set(versions.chosen(version))
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in _FOREIGN}
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(emulated(version))
    if beta1:
        from nki_anvil.sim.beta1.modules import emulated_beta1

        sys.modules.update(emulated_beta1())
    try:
        yield
    finally:
        versions.INSTALLED.reset(token)
        for name in [name for name in sys.modules if name.partition(".")[0] in _FOREIGN]:
            del sys.modules[name]
        sys.modules.update(hidden)
