"""How far outputs are from a reference's: plain figures per output. It knows nothing of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

TOLERANCES: Final = {2: 2e-2, 1: 1e-1}
"""Largest relative L2 error by the bytes of the coarsest floating dtype in play: a few unit roundoffs of each."""
FULL_TOLERANCE: Final = 1e-4
"""For float32 and wider: the order of summation is the kernel's own."""


def arrays(value: Any) -> list[Any]:
    """The arrays in what a function returned: one, a tuple, a list, or a dictionary's values; None counts for none."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return arrays(list(cast("Mapping[Any, Any]", value).values()))
    if isinstance(value, (list, tuple)):
        return [array for item in cast("Sequence[Any]", value) for array in arrays(item)]
    return [_plain(value)]


def of_all(got: Sequence[Any], wanted: Sequence[Any]) -> list[dict[str, Any]]:
    """The difference of each output. Raises ValueError where number or shapes do not agree."""
    if len(got) != len(wanted):
        raise ValueError(f"the kernel returns {len(got)} outputs, the reference {len(wanted)}")
    return [_of_one(position, *pair) for position, pair in enumerate(zip(got, wanted, strict=True))]


def tolerance(involved: Sequence[Any]) -> float:
    """What a relative L2 error may be by itself, given what took part: only arrays of floating numbers count."""
    sizes = [np.dtype(array.dtype).itemsize for array in involved if _is_float(array)]
    return TOLERANCES.get(min(sizes, default=4), FULL_TOLERANCE)


def _of_one(position: int, got: Any, wanted: Any) -> dict[str, Any]:
    """Relative L2 error where the reference is finite; infinite where the kernel is not finite there."""
    if _shape(got) != _shape(wanted):
        raise ValueError(f"output {position} has shape {got.shape}, the reference {wanted.shape}")
    left, right = (np.asarray(array).astype(np.float64).ravel() for array in (got, wanted))
    finite = np.isfinite(right)
    off = left[finite] - right[finite]
    if not np.isfinite(off).all():
        return {"output": position, "relative": float("inf"), "largest": float("inf")}
    norm = float(np.linalg.norm(right[finite])) or 1.0
    return {
        "output": position,
        "relative": float(np.linalg.norm(off)) / norm,
        "largest": float(np.abs(off).max(initial=0.0)),
    }


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(size for size in array.shape if size != 1)


def _plain(value: Any) -> Any:
    """A NumPy array of whatever holds numbers; a torch tensor is taken out of its graph, and widened where it must."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "float" in str(value.dtype) and "64" not in str(value.dtype) else value
    return np.asarray(value)


def _is_float(value: Any) -> bool:
    """An array of floating numbers; torch's tensors have dtypes of their own, and count for float32."""
    dtype = getattr(value, "dtype", None)
    return isinstance(dtype, np.dtype) and value.ndim > 0 and "float" in cast("np.dtype[Any]", dtype).name
