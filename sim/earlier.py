"""Call forms of earlier versions: today's functions under the parameters that they had then.

Which parameters those were is data in ``versions``; here is only what has to be translated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from nki_anvil.sim import isa, language, versions
from nki_anvil.sim.dtypes import INTEGERS
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.selection import FP32_MIN
from nki_anvil.sim.language.creation import format_of
from nki_anvil.sim.language.operations import Operation
from nki_anvil.sim.tensor import NkiTensor

Function = Callable[..., Any]


def adapted(path: str, public: Any, version: str) -> Any:
    """What a version has under a name, given by its full path and today's object."""
    form = versions.form(path, version)
    if form is not None:
        oldest = versions.before(version, "0.3")
        return _called(path, public, form, _TRANSLATIONS.get(path, public) if oldest else public, version)
    if callable(public) and isinstance(public, Operation) and versions.before(version, "0.3"):
        return NameOnly(public.__name__, public.operation)
    return public


class NameOnly(Operation):
    """An operation of NKI 0.2: it can stand as ``op=``, not be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TraceError(
            "NKI-VERSION",
            f"{self!r} computes since NKI 0.3; in 0.2 it only names an operation.",
            remedy=f"Pass it as op={self!r} to an instruction of nki.isa.",
        )


def _called(path: str, public: Function, form: versions.Form, carry_out: Function, version: str) -> Function:
    @functools.wraps(public)
    def call(*args: Any, **kwargs: Any) -> Any:
        return carry_out(**_by_name(path, form, args, kwargs, version))

    vars(call)["__signature__"] = _signature(form)
    return call


def _signature(form: versions.Form) -> inspect.Signature:
    kind, needed = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    defaults = {name: needed if name in form.required else None for name in form.parameters}
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in defaults.items()])


def _by_name(
    path: str, form: versions.Form, args: Sequence[Any], kwargs: Mapping[str, Any], version: str
) -> dict[str, Any]:
    """All arguments by name; raises TraceError for those that this version's form does not have, or cannot spare."""
    strangers = [f"{name}=" for name in kwargs if name not in form.parameters]
    given = {**dict(zip(form.parameters, args, strict=False)), **kwargs}
    lacking = [f"{name}=" for name in form.required if name not in given]
    if not strangers and not lacking and len(args) <= len(form.parameters):
        return given
    if strangers or len(args) > len(form.parameters):
        wrong = f"does not take {strangers[0] if strangers else f'{len(args)} positional arguments'}"
    else:
        wrong = f"needs {lacking[0]}"
    shown = ", ".join(name if name in form.required else f"{name}=" for name in form.parameters)
    raise TraceError(
        "NKI-VERSION",
        f"{path} {wrong} in NKI {version}.",
        remedy=f"There it is {path.rpartition('.')[2]}({shown}).",
    )


def _dma_copy(dst: Any, src: Any, dst_rmw_op: Any = None, unique_indices: bool = True, **rest: Any) -> Any:
    """With an operation it adds to what dst holds, as dma_compute does today."""
    if dst_rmw_op is None:
        return isa.dma_copy(dst, src, **rest)
    kept = {key: value for key, value in rest.items() if key in ("oob_mode", "name")}
    return isa.dma_compute(dst, [src, dst], dst_rmw_op, unique_indices=unique_indices, **kept)


def _register_move(dst: Any, imm: Any) -> None:
    isa.register_move(dst, imm)


def _sendrecv(*, use_gpsimd_dma: bool = False, **rest: Any) -> Any:
    route = isa.dma_engine.gpsimd_dma if use_gpsimd_dma else isa.dma_engine.dma
    return isa.sendrecv(dma_engine=route, **rest)


def _tensor_copy(dst: Any, src: Any, dtype: Any = None, **rest: Any) -> Any:
    if dtype is not None and isinstance(dst, NkiTensor) and format_of(dtype) != dst.dtype:
        raise TraceError(
            "NKI-DTYPE", f"nisa.tensor_copy with dtype={dtype} into {dst!r}.", remedy="The dtype of dst decides."
        )
    return isa.tensor_copy(dst, src, **rest)


def _memset(dst: Any, value: Any, **rest: Any) -> Any:
    """A float was converted to what an integer tile holds."""
    integer = isinstance(dst, NkiTensor) and dst.dtype in INTEGERS and isinstance(value, float)
    return isa.memset(dst, int(value) if integer else value, **rest)


def _tensor_reduce(dst: Any, op: Any, data: Any, axis: Any, **rest: Any) -> Any:
    """Axis 1 meant the last dimension, whatever the rank."""
    last = axis in (1, (1,), [1]) and isinstance(data, NkiTensor)
    return isa.tensor_reduce(dst, op, data, data.ndim - 1 if last else axis, **rest)


def _range_select(**given: Any) -> Any:
    """Two parameters were taken and ignored."""
    given |= {"reduce_cmd": isa.reduce_cmd.reset_reduce, "on_false_value": FP32_MIN}
    given["range_start"] = int(given.get("range_start", 0))
    return isa.range_select(**given)


def _shared_constant(constant: Any, dtype: Any = None) -> Any:
    return language.shared_constant(constant if dtype is None else np.asarray(constant, str(format_of(dtype))))


_TRANSLATIONS: Final[Mapping[str, Function]] = {
    "nki.isa.dma_copy": _dma_copy,
    "nki.isa.register_move": _register_move,
    "nki.isa.sendrecv": _sendrecv,
    "nki.isa.tensor_copy": _tensor_copy,
    "nki.isa.memset": _memset,
    "nki.isa.tensor_reduce": _tensor_reduce,
    "nki.isa.range_select": _range_select,
    "nki.language.shared_constant": _shared_constant,
}
"""NKI 0.2, where more than the order of the parameters differs."""
