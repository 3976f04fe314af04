"""Names that a kernel asks for in vain: those that NKI has and we lack, those that Beta 1 had, and those nobody has."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

from nki_anvil.sim import versions
from nki_anvil.sim.errors import MissingFeature, MissingName

_TRN3: Final = "belongs to Trainium3 (NeuronCore-v4)"
_OUT_OF_SCOPE: Final = "moves data between devices, which one simulated NeuronCore has not"

_COLLECTIVES: Final = (
    "all_reduce",
    "all_gather",
    "all_gather_v",
    "reduce_scatter",
    "all_to_all",
    "all_to_all_v",
    "collective_permute",
    "collective_permute_implicit",
    "collective_permute_implicit_reduce",
    "collective_permute_implicit_current_processing_rank_id",
    "rank_id",
)

NOT_SIMULATED: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "nki.isa": {
        "nc_matmul_mx": (_TRN3, "nc_matmul"),
        "quantize_mx": (_TRN3, "tensor_copy"),
        "activate2": (_TRN3, "activation"),
        "exponential": (_TRN3, "activation"),
        "rand2": (_TRN3, "rng"),
    },
    "nki.language": {"int64": ("makes scalars of 64 bits", "int32")},
    "nki.collectives": dict.fromkeys(_COLLECTIVES, (_OUT_OF_SCOPE, "")),
}
"""By module: why, and the nearest name that is simulated."""

BETA1: Final[Mapping[str, Mapping[str, str]]] = {
    "nki.language": {
        "arange": "slice with t[a:b], nl.ds(start, size) or .ap(pattern)",
        "mgrid": "slice with t[a:b], nl.ds(start, size) or .ap(pattern)",
        "par_dim": "the first dimension is always the partitions; keep blocks in a Python list",
        "loop_reduce": "accumulate into a tile with nisa.tensor_tensor",
        "static_cast": "nisa.tensor_copy into a tile of the wanted dtype",
        "atomic_rmw": "nisa.dma_compute",
        "all_reduce": "nki.collectives",
        "gemm_grid": "launch with kernel[2] for two cores, else loop",
        "spmd_dim": "launch with kernel[2] for two cores, else loop",
        "nc": "launch with kernel[2] for two cores, else loop",
        "finfo": "a Python constant",
        "fp32": "a Python constant",
        "bfp16": "a Python constant",
    },
    "nki.isa": {"builtin_custom_op": "an instruction of nki.isa"},
    "nki": {
        "benchmark": "nothing here: call the kernel with arrays, time it with nki-anvil",
        "profile": "nothing here: nki_anvil.sim.estimate",
        "baremetal": "a call of the jitted kernel with arrays",
        "simulate_kernel": "nki.simulate(kernel)(*args)",
        "trace": "nki.jit",
    },
}
"""What replaced the names that only Beta 1 had."""


def missing(module: str, name: str, known: Sequence[str], version: str = versions.CURRENT) -> AttributeError:
    """The error for a name that an emulated module lacks; it is an AttributeError, for ``hasattr``."""
    if name.startswith("__"):
        return AttributeError(name)
    if explained := versions.explanation(module, name, version):
        return explained
    if name in NOT_SIMULATED.get(module, {}):
        why, nearest = NOT_SIMULATED[module][name]
        return MissingFeature(
            f"{module}.{name} {why}.", remedy=f"The nearest here is {module}.{nearest}." if nearest else ""
        )
    if name in BETA1.get(module, {}):
        return MissingName(
            "NKI-BETA1", f"{module}.{name} belongs to Beta 1 (neuronxcc.nki).", remedy=f"Now: {BETA1[module][name]}."
        )
    near = difflib.get_close_matches(name, known, n=3)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "See the reference of that module."
    return MissingName("NKI-UNKNOWN", f"{module} has no {name}.", remedy=remedy)
