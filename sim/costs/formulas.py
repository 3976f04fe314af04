"""Cycles per instruction as data: the published formulas, N being the elements per partition (instruction pages)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["", "copy", "pair", "double", "reciprocal"]


@dataclass(frozen=True, slots=True)
class Formula:
    """``max(minimum, per_element * N / speed) + constant`` cycles, where ``mode`` says which operands give
    more speed."""

    per_element: float
    constant: float = 0
    mode: Mode = ""


DEFAULT: Final = Formula(1)

FORMULAS: Final[Mapping[str, Formula]] = {
    "tensor_copy": Formula(1, mode="copy"),
    "tensor_scalar": Formula(1, mode="copy"),
    "memset": Formula(1, mode="double"),
    "tensor_tensor": Formula(1, mode="pair"),
    "scalar_tensor_tensor": Formula(1, mode="pair"),
    "tensor_copy_predicated": Formula(1, mode="pair"),
    "tensor_reduce": Formula(1, mode="double"),
    "tensor_scalar_reduce": Formula(1, 64),
    "tensor_scalar_cumulative": Formula(1, 64),
    "tensor_tensor_scan": Formula(2),
    "activation": Formula(1),
    "activation_reduce": Formula(1, 64),
    "reciprocal": Formula(1, mode="reciprocal"),
    "bn_stats": Formula(1),
    "bn_aggr": Formula(13 / 3),
    "max8": Formula(1),
    "nc_find_index8": Formula(1),
    "nc_match_replace8": Formula(1),
    "nc_transpose": Formula(1),
    "select_reduce": Formula(1, 64),
    "range_select": Formula(1, 64),
    "tensor_partition_reduce": Formula(8),  # assumed: slow, the guide says to use a matmul with ones
    "topk": Formula(4),  # of all n elements in 16 partitions, and a cycle per element that it finds
    "register_move": Formula(0),
    "register_compute": Formula(0),
    "register_load": Formula(0),
    "register_store": Formula(0),
    "device_print": Formula(0),
    "core_barrier": Formula(0),
}
"""By instruction; the others cost one cycle per element. Accumulator reads add 64 cycles."""

ITERATIVE: Final = frozenset({"reciprocal", "divide", "mod", "fmod", "power", "rsqrt"})
"""Operators that make every instruction which names them as slow as ``BY_OPERATOR`` says."""
BY_OPERATOR: Final[Mapping[str, Formula]] = {"vector": FORMULAS["reciprocal"], "gpsimd": Formula(4)}
"""On the vector engine as the reciprocal (assumed for the others), on GpSimd four times the scalar engine's time
(instruction pages: rsqrt; assumed for the others)."""

TABLE_SETS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("copy", "square", "relu", "prelu", "sign", "abs"), ""),
    **dict.fromkeys(("exp",), "exp"),
    **dict.fromkeys(("tanh", "sigmoid", "silu"), "tanh"),
    **dict.fromkeys(("gelu", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "mish", "softplus"), "gelu"),
    **dict.fromkeys(("gelu_dx", "gelu_apprx_sigmoid_dx", "silu_dx", "erf_dx"), "derivatives"),
    **dict.fromkeys(("sqrt", "rsqrt", "reciprocal"), "root"),
}
"""Sets of activation functions whose tables are resident together; the empty set is always there, and a function that
is not listed is a set of its own. Only that sets exist is published: this grouping is assumed."""
