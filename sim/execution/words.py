"""Arithmetic of 32-bit integers, and what comes of a result that has more bits.

That is told nowhere (``nki.isa.tensor_tensor`` says native integer arithmetic, and no more): it wraps around, or ends
at the format's last number, by lot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.alu import operation
from nki_anvil.sim.execution.bench import Bench

_GROWING: Final[dict[str, Any]] = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}


def word_operation(bench: Bench, name: str) -> Callable[..., Any]:
    """An operator ``(a, b, out)`` on arrays of one 32-bit format, by name."""
    return partial(_grown, bench, name) if name in _GROWING else operation(name)


def _grown(bench: Bench, name: str, a: Any, b: Any, out: NDArray[Any], **options: Any) -> None:
    if not bench.lots.other("words", name):
        operation(name)(a, b, out, **options)
        return
    limits = np.iinfo(out.dtype)
    kind = np.uint64 if name == "multiply" and limits.min == 0 else np.int64
    wide = _GROWING[name](a.astype(kind), b.astype(kind), **options)
    np.copyto(out, np.clip(wide, limits.min, limits.max), casting="unsafe")
