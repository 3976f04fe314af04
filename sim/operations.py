"""The operations an instruction can name in ``op``: what they are called and what kind they are, not what they compute.

Names are those of ``nki.language``. Sources: the tables of math operators and of activation functions in the NKI ISA's
common fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

BITWISE: Final = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"})
BITWISE_UNARY: Final = frozenset({"invert"})
BITVEC: Final = BITWISE | BITWISE_UNARY
"""Integer operands, bit patterns, no conversion."""

COMPARISONS: Final = frozenset({"equal", "not_equal", "greater_equal", "greater", "less_equal", "less"})
LOGICAL: Final = frozenset({"logical_and", "logical_or", "logical_xor"})
BINARY: Final = (
    frozenset({"add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "abs_max", "abs_min"})
    | {"mod", "fmod"}
    | COMPARISONS
    | LOGICAL
)
UNARY: Final = frozenset({"abs", "square", "relu", "rsqrt", "reciprocal", "logical_not", "bypass"})
"""Need no second operand."""
ARITHMETIC: Final = BINARY | UNARY
ALU: Final = ARITHMETIC | BITVEC

ABSENT: Final = frozenset({"divide", "mod", "fmod", "abs_max", "abs_min"})
"""What no engine of Trainium2 has, though the language has names for it: divisions and remainders are missing in the
table of math operators, and the extremes by magnitude came with NeuronCore-v4 (``nki.language.abs_max``)."""

WORDS: Final = frozenset({"int32", "uint32"})
_EXACT: Final[Mapping[str, frozenset[str]]] = {"beta1": frozenset({"add", "multiply", "subtract"}), "0.2": frozenset()}
_EXACT_SINCE: Final = ARITHMETIC - {"power"}


def exact(version: str) -> frozenset[str]:
    """Operators between two tiles of WORDS that GpSimd computes in integers; all others go through float32.

    Pages of nki.isa.tensor_tensor: that of SDK 2.26 (Beta 1) names three, that of 2.28 (NKI 0.2) none, and those since
    2.29 (0.3) say native integer arithmetic for all.
    """
    return _EXACT.get(".".join(version.split(".")[:2]), _EXACT_SINCE)


REDUCTIONS: Final = (
    frozenset({"add", "subtract", "multiply", "maximum", "minimum", "average", "bitwise_and", "bitwise_or"})
    | {"bitwise_xor", "abs_max", "abs_min"}
    | LOGICAL
)

ACTIVATIONS: Final = frozenset(
    {"copy", "square", "sigmoid", "relu", "prelu", "gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid"}
    | {"gelu_apprx_sigmoid_dx", "silu", "silu_dx", "tanh", "softplus", "mish", "erf", "erf_dx", "exp", "log"}
    | {"sin", "arctan", "sqrt", "rsqrt", "reciprocal", "sign", "abs"}
)

RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "log": (2.0**-64, 2.0**64),
    "sin": (-math.pi, math.pi),
    "arctan": (-math.pi / 2, math.pi / 2),
    "sqrt": (2.0**-116, 2.0**118),
    "rsqrt": (2.0**-87, 2.0**97),
    "reciprocal": (2.0**-42, 2.0**42),  # of the magnitude
}
"""Where the Scalar Engine's table of an activation function holds; the others take all reals."""

ACCURACY: Final[Mapping[str, float]] = {
    **dict.fromkeys(("copy", "relu", "prelu", "sign", "abs"), 0.0),
    **dict.fromkeys(("square", "sqrt", "reciprocal"), 2.0**-23),
    **dict.fromkeys(("exp", "log", "sin", "arctan", "tanh", "rsqrt", "erf", "erf_dx", "softplus"), 3e-6),
    **dict.fromkeys(("sigmoid", "silu", "silu_dx", "mish", "gelu", "gelu_dx"), 3e-6),
    **dict.fromkeys(("gelu_apprx_tanh", "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx"), 3e-6),
}
"""Relative error of each activation function here, of values above 0.01: arithmetic in float32, no table.

The Scalar Engine interpolates piece-wise polynomials, whose errors AWS does not publish; Vector and GpSimd compute
reciprocal and rsqrt at a higher precision than it does (NKI API Common Fields, engine selection).
"""
