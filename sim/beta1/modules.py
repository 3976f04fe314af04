"""The module tree of Beta 1: what ``neuronxcc.nki`` and its submodules hold."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

import numpy as np

from nki_anvil.sim.absent import missing
from nki_anvil.sim.beta1 import (
    broadcasting,
    compiler,
    creation,
    elementwise,
    grids,
    loops,
    movement,
    reductions,
    selection,
)
from nki_anvil.sim.beta1.enums import MEMBERS
from nki_anvil.sim.beta1.instructions import arithmetic, moving, selecting, tensor_engine
from nki_anvil.sim.beta1.kernel import jit, simulate_kernel, wrapper
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.beta1.unread import strict
from nki_anvil.sim.dtypes import NAMED_DTYPES
from nki_anvil.sim.language import regions
from nki_anvil.sim.typing import mutable_tensor, tensor


class _Limits:
    """``nl.fp32``: the ends of a format."""

    def __init__(self, smallest: float, largest: float) -> None:
        self.min, self.max = smallest, largest


class _TensorMethods:
    """``nki.tensor``: methods of tensors as functions."""

    assert_shape = staticmethod(Tile.assert_shape)
    astype = staticmethod(Tile.astype)
    broadcast_to = staticmethod(Tile.broadcast_to)
    expand_dims = staticmethod(Tile.expand_dims)
    reshape = staticmethod(Tile.reshape)
    view = staticmethod(Tile.view)


def _language() -> dict[str, Any]:
    named = {**elementwise.OPERATIONS}
    named.update(
        sum=reductions.sum_, max=reductions.max_, min=reductions.min_, prod=reductions.prod, all=reductions.all_
    )
    named.update(_named(_LANGUAGE))
    named.update(NAMED_DTYPES)
    named.update(
        mgrid=grids.MGrid(),
        arange=grids.arange,
        sbuf=regions.sbuf,
        psum=regions.psum,
        hbm=regions.hbm,
        private_hbm=regions.private_hbm,
        shared_hbm=regions.shared_hbm,
        tile_size=regions.tile_size,
        static_cast=elementwise.copy_as,
        fp32=_Limits(float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)),
        bfp16=_Limits(-3.3895313892515355e38, 3.3895313892515355e38),
        rsqrt=elementwise.OPERATIONS["rsqrt"],
        finfo=finfo,
        tensor=Tile,
    )
    return named


def _named(table: Mapping[Any, str]) -> dict[str, Any]:
    """The functions of a table by name, which refuse what they would not read."""
    found = {name: getattr(module, name) for module, names in table.items() for name in names.split()}
    return {name: strict(one) if isinstance(one, types.FunctionType) else one for name, one in found.items()}


_LANGUAGE: Final[Mapping[Any, str]] = {
    broadcasting: "broadcast_to",
    creation: "ndarray zeros ones full zeros_like empty_like shared_constant shared_identity_matrix par_dim",
    elementwise: "copy where",
    loops: "affine_range sequential_range static_range program_id num_programs program_ndim nc spmd_dim",
    movement: "ds dslice load store load_transpose2d transpose matmul expand_dims gather_flattened"
    " atomic_rmw device_print dropout rand random_seed all_reduce",
    reductions: "mean var softmax rms_norm loop_reduce",
}


def finfo(dtype: Any) -> Any:
    """The ends of a float format."""
    import ml_dtypes

    from nki_anvil.sim.dtypes import as_dtype, numpy_dtype

    limits: Any = ml_dtypes.finfo
    return limits(numpy_dtype(as_dtype(dtype)))


_INSTRUCTIONS: Final[Mapping[Any, str]] = {
    tensor_engine: "nc_matmul nc_transpose",
    arithmetic: "activation activation_reduce tensor_scalar tensor_tensor scalar_tensor_tensor tensor_scalar_reduce"
    " tensor_scalar_cumulative tensor_tensor_scan tensor_partition_reduce reciprocal dropout",
    selecting: "range_select select_reduce bn_stats bn_aggr max8 nc_find_index8 nc_match_replace8 local_gather"
    " sequence_bounds",
    moving: "tensor_copy tensor_copy_dynamic_dst tensor_copy_dynamic_src tensor_copy_predicated memset"
    " nc_stream_shuffle dma_copy dma_transpose builtin_custom_op get_nc_version",
    selection: "iota affine_select",
    reductions: "tensor_reduce",
}


def _isa() -> dict[str, Any]:
    named = _named(_INSTRUCTIONS)
    named.update(MEMBERS)
    return named


@functools.cache
def _contents() -> dict[str, dict[str, Any]]:
    """The same objects in every installation: kernels may ask which of them something is."""
    kernels = {"jit": jit, "trace": wrapper, "baremetal": wrapper, "benchmark": wrapper, "profile": wrapper}
    return {
        "neuronxcc": {},
        "neuronxcc.nki": {**kernels, "simulate_kernel": simulate_kernel, "tensor": _TensorMethods},
        "neuronxcc.nki.language": _language(),
        "neuronxcc.nki.isa": _isa(),
        "neuronxcc.nki.isa.constants": MEMBERS,
        "neuronxcc.nki.typing": {"tensor": tensor, "mutable_tensor": mutable_tensor},
        "neuronxcc.nki.compiler": {name: getattr(compiler, name) for name in compiler.__all__},
        "neuronxcc.nki.compiler.backends": {},
    }


def public() -> dict[str, list[str]]:
    """What kernels use of Beta 1, by the usual short names of its modules."""
    contents = _contents()
    short = {"nki": "", "nl": ".language", "nisa": ".isa", "nki.compiler": ".compiler"}
    return {name: sorted(contents[f"neuronxcc.nki{end}"]) for name, end in short.items()}


def emulated_beta1() -> dict[str, ModuleType]:
    """A fresh module tree by full name; each is an attribute of its parent."""
    tree = {name: _module(name, public) for name, public in _contents().items()}
    for name, module in tree.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(tree[parent], child, module)
    nki = tree["neuronxcc.nki"]
    nki.__dict__["isa"], nki.__dict__["lang"] = tree["neuronxcc.nki.isa"], tree["neuronxcc.nki.language"]
    return tree


def _module(name: str, public: Mapping[str, Any]) -> ModuleType:
    module = ModuleType(name, f"{name}, emulated as of NKI Beta 1.")
    module.__dict__.update(public)
    module.__dict__["__getattr__"] = _absent(name, sorted(public))
    module.__path__ = []
    return module


def _absent(name: str, known: list[str]) -> Callable[[str], Any]:
    def absent(attribute: str) -> Any:
        raise missing(name, attribute, known)

    return absent
