"""The relative L2 that a problem's whole outputs must keep: declared, tightened, or what their formats need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.backends.run import ArraySpec
from nki_anvil.lab.formats import UNIT_ROUNDOFF

DEFAULT: Final = {
    "float32": 2e-5,
    "tfloat32": 2e-3,
    "float16": 2e-3,
    "bfloat16": 1e-2,
    "float8_e4m3": 1e-1,
    "float8_e5m2": 2e-1,
}
"""By format: AccelOpt's for float32, else a few unit roundoffs."""
TYPICAL_ROUNDING: Final = 0.4
"""Relative L2 of rounding numbers of all sizes to a format, in its unit roundoffs: some 1 / sqrt(6)."""


def tolerance(declared: float | None, wanted: float | None, precision: str, outputs: Sequence[ArraySpec]) -> float:
    """The problem's, or what the caller wants instead. Raises ArgumentsInvalid for one that is looser, or nothing.

    Where none is declared it is that of the coarsest of the precision and the outputs' formats.
    """
    formats = [precision, *(output.dtype for output in outputs)]
    own = declared or max(DEFAULT.get(name, 0.0) for name in formats)
    if wanted is None:
        return own
    if not 0 < wanted <= own:
        message = f"The tolerance {wanted:g} is not above zero and up to the problem's own {own:g}."
        raise ArgumentsInvalid(message, "It can only be made tighter.")
    return wanted


def beyond_rounding(allowed: float, outputs: Sequence[ArraySpec]) -> Iterator[str]:
    """Warnings of a tolerance that an output's own format cannot keep."""
    for position, output in enumerate(outputs):
        rounding = TYPICAL_ROUNDING * UNIT_ROUNDOFF.get(output.dtype, 0.0)
        if allowed < rounding:
            yield (
                f"Output {position} is kept in {output.dtype}, which is off by {rounding:.1g} by itself: "
                f"a tolerance of {allowed:g} refuses every kernel."
            )
