"""A program with its low-precision tensors stored as float32, to tell lost precision from wrong logic."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim import dtypes
from nki_anvil.sim.errors import NotSimulated
from nki_anvil.sim.program import NONE, Program

LOW: Final = ("bfloat16", "float8_e4m3", "float8_e5m2")
"""What ``NKI_PRECISE_FP=0`` widens (AWS Neuron documentation, NKI CPU Simulator)."""

_CODES: Final = np.array([dtypes.NAMES.index("float32" if name in LOW else name) for name in dtypes.NAMES], np.uint8)


def widened(program: Program) -> Program:
    """The same program in which every tensor of a LOW format is float32, elements and addresses as before.

    Raises NotSimulated where a view reads a widened tensor's bytes as another format.
    """
    tensors, accesses = dict(program.tables["tensors"]), dict(program.tables["accesses"])
    own = tensors["dtype"][accesses["tensor"]]
    changed = _CODES[own] != own
    if bool(np.any(changed & (accesses["dtype"] != own))):
        raise NotSimulated(
            "NKI_PRECISE_FP=0 with a view that reinterprets low-precision bytes.", remedy="Leave NKI_PRECISE_FP at 1."
        )
    tensors["dtype"], accesses["dtype"] = _CODES[tensors["dtype"]], np.where(changed, _CODES[own], accesses["dtype"])
    accesses["dtype"] = accesses["dtype"].astype(np.uint8)
    return dataclasses.replace(
        program,
        tables={**program.tables, "tensors": tensors, "accesses": accesses},
        constants=_constants(program),
    )


def _constants(program: Program) -> list[NDArray[Any]]:
    result = list(program.constants)
    rows = program.tables["tensors"]
    for tensor in np.flatnonzero(rows["constant"] != NONE).tolist():
        if dtypes.NAMES[int(rows["dtype"][tensor])] in LOW:
            index = int(rows["constant"][tensor])
            result[index] = result[index].astype(np.float32)
    return result


def widen(array: NDArray[Any]) -> NDArray[Any]:
    """An input as a widened program takes it."""
    try:
        return array.astype(np.float32) if dtypes.name_of(array.dtype) in LOW else array
    except KeyError:
        return array
