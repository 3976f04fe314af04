"""What each name and keyword of Beta 1 has become in the current dialect: data for the porting list and the guide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nki_anvil.sim.absent import BETA1

TILES: Final = frozenset(
    {"activation", "activation_reduce", "bn_aggr", "bn_stats", "dma_transpose", "dropout", "local_gather", "max8"}
    | {"nc_find_index8", "nc_match_replace8", "nc_matmul", "nc_transpose", "range_select", "reciprocal"}
    | {"scalar_tensor_tensor", "sequence_bounds", "tensor_copy", "tensor_partition_reduce", "tensor_reduce"}
    | {"tensor_scalar", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan"}
)
"""Instructions that returned a tile and now write to their first argument."""

_PLACED: Final = "nl.ndarray(..., address=(partition, byte)), or leave the place to the compiler"
_DROPPED: Final = "leave it out: the compiler allocates where no address is given"
_MOVED: Final = "nisa.tensor_copy(dst, src) with .ap(pattern, scalar_offset=index) on the moved side"

CALLS: Final[Mapping[str, str]] = {
    **{
        f"nisa.{name}": f"allocate dst with nl.ndarray and call nisa.{name}(dst, ...): it returns no tile"
        for name in sorted(TILES)
    },
    **{f"nl.{name}": instead for name, instead in BETA1["nki.language"].items()},
    **{f"nisa.{name}": instead for name, instead in BETA1["nki.isa"].items()},
    **{f"nki.{name}": instead for name, instead in BETA1["nki"].items()},
    "nl.load": "nl.load(src) without mask= or grids, or nl.ndarray and nisa.dma_copy(dst, src)",
    "nl.store": "nl.store(dst, value) without mask=, or nisa.dma_copy(dst, src)",
    "nl.matmul": "nisa.nc_matmul(dst, stationary, moving), the contraction on the partitions of both",
    "nl.affine_range": "range: iterations run in program order",
    "nl.sequential_range": "range",
    "nl.static_range": "range",
    "nl.ds": "nl.ds(start, size) stays; start is a Python integer",
    "nl.dslice": "nl.ds(start, size)",
    "nl.tensor": "nl.NkiTensor, whose views are methods",
    "nki.tensor": "the views of a tensor: t.reshape(shape), t.view(dtype), t.broadcast(...)",
    "nisa.memset": "nisa.memset(dst, value) into a tile of nl.ndarray",
    "nisa.iota": "nisa.iota(dst, [[step, count], ...], offset, channel_multiplier)",
    "nisa.affine_select": "nisa.affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op)",
    "nisa.nc_stream_shuffle": "nisa.nc_stream_shuffle(dst, src, shuffle_mask): the destination first",
    "nisa.tensor_copy_dynamic_src": _MOVED,
    "nisa.tensor_copy_dynamic_dst": _MOVED,
    "nl.spmd_dim": "kernel[2] for two cores; other axes of a grid become loops",
    "nl.program_id": "only the core of kernel[2]; other axes of a grid become loops",
    "nki.compiler.sbuf": _PLACED,
    "nki.compiler.psum": _PLACED,
    "nki.compiler.allocation_scope": _DROPPED,
    "nki.compiler.enable_stack_allocator": _DROPPED,
    "nki.compiler.force_auto_alloc": _DROPPED,
    "nki.compiler.multi_buffer": "as many tiles in a Python list, used in turn",
    "nki.compiler.no_reorder": "nl.no_reorder()",
    "nki.compiler.skip_middle_end_transformations": "leave it out: what is written is what runs",
}
"""By name, under the usual names of the modules: what the current dialect has in its place."""

KEYWORDS: Final[Mapping[str, str]] = {
    "mask": "clamp the bound with min() and slice all operands alike",
    "lazy_initialization": "leave it out: the first matmul of a region overwrites",
    "loop_indices": "accumulate explicitly: the first iteration copies, the others combine with nisa.tensor_tensor",
    "dst_rmw_op": "nisa.dma_compute(dst, [dst, src], op)",
}
"""By keyword of a call."""

REDUCTIONS: Final[Mapping[str, str]] = {"max": "maximum", "min": "minimum", "sum": "add", "prod": "multiply"}
"""NumPy's reductions given as an operation, and the operation that each repeats."""


def rows() -> list[tuple[str, str]]:
    """What changed, a row for all names that changed alike; the instructions that returned tiles are one row."""
    alike: dict[str, list[str]] = {}
    for name, instead in CALLS.items():
        returned = name.removeprefix("nisa.") in TILES
        alike.setdefault("nisa.NAME(dst, ...) into a tile of nl.ndarray" if returned else instead, []).append(name)
    listed = [(", ".join(f"`{name}`" for name in names), instead) for instead, names in alike.items()]
    return [*listed, *((f"`{keyword}=`", instead) for keyword, instead in KEYWORDS.items())]
