"""What fresh memory holds: two patterns, made so that no question about unwritten data is answered alike by both.

Pattern 0 is one value throughout. Pattern 1 mixes large and small numbers, both signs and zero: a kernel that asks
whether unwritten memory is positive, negative or zero gets other answers in some places, and then its output differs.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes

_LENGTH: Final = 1021
"""Elements after which pattern 1 begins again: a prime, so that no stride of a tile meets one value alone."""
_INTEGER: Final = 4
"""What the vendor's simulator fills integers with."""
_LARGE: Final = {"float16": 29792.0, "float8_e4m3": 208.0, "float8_e5m2": 28672.0}
_WIDE: Final = 1.6e30
_BETWEEN: Final = (0.375, -0.625, 0.0625, -13.0, 112.0)
"""What a call before may have left."""
_BYTES: Final = (0x5A, 0x00, 0xDA, 0x01, 0xFF)
"""Of integers, all of them alike, where they are large of either sign, zero, tiny and NaN when read as floats; and each
of them followed by the next, so that no two places of an integer are known to agree."""


def pattern(dtype: str, which: int) -> NDArray[Any]:
    """The values that fresh memory of a format repeats, one after the other."""
    stored = dtypes.numpy_dtype(dtype)
    if which == 0:
        return np.array([_INTEGER if dtype in dtypes.INTEGERS else np.nan]).astype(stored)
    if dtype in dtypes.INTEGERS:
        alike = [[byte] * stored.itemsize for byte in _BYTES]
        unlike = [np.resize(np.roll(_BYTES, first), stored.itemsize) for first in range(len(_BYTES))]
        return _mixed(np.array([*alike, *unlike], np.uint8).view(stored).ravel())
    large = _LARGE.get(dtype, _WIDE)
    return _mixed(np.array([-large, large, 0.0, 1.0, -1.0, *_BETWEEN]).astype(stored))


def lay(block: NDArray[Any], values: NDArray[Any]) -> None:
    """Fill a flat block with a pattern."""
    if len(values) == 1:
        block.fill(values[0])
        return
    whole = len(block) - len(block) % len(values)
    block[:whole].reshape(-1, len(values))[...] = values
    block[whole:] = values[: len(block) - whole]


def _mixed(values: NDArray[Any]) -> NDArray[Any]:
    """Each value in about as many places, in no order that a tile's shape could share (Knuth's hash)."""
    return values[(np.arange(_LENGTH) * 2654435761 >> 9) % len(values)]
