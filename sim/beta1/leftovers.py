"""What a traced program does not need: fills that are overwritten before they are read, and unused tensors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import UPDATES, WRITES
from nki_anvil.sim.program import NONE, ROLES, SCHEMA

Rows = NDArray[np.int64]

_SITE: Final = {name: column for column, name in enumerate(SCHEMA["accesses"])}
_TENSOR: Final = {name: column for column, name in enumerate(SCHEMA["tensors"])}
_INSTRUCTION: Final = {name: column for column, name in enumerate(SCHEMA["instructions"])}
_FLAG: Final = len(SCHEMA["instructions"])
_MATMUL: Final = NAMES.index("nc_matmul")


def removed(
    instructions: Rows, sites: Rows, tensors: Rows, outputs: NDArray[np.int64], attributes: list[dict[str, Any]]
) -> tuple[Rows, NDArray[np.int64], Rows, Rows, NDArray[np.int64]]:
    """Instructions, operands (as sites), sites, tensors and outputs of the program without its leftovers."""
    owner, number, slot = _operand_sites(instructions)
    idle = _idle_fills(instructions, sites, tensors, owner, number, slot, attributes)
    if idle.any():
        instructions = instructions[~idle]
        owner, number, slot = _operand_sites(instructions)
    operands = np.where(sites[number, 0] == NONE, NONE, number)
    instructions[:, _INSTRUCTION["first_operand"]] = np.cumsum(
        np.concatenate([[0], instructions[:-1, _INSTRUCTION["operands"]]])
    )[: len(instructions)]
    sites, operands, outputs = _used_sites(sites, operands, outputs)
    sites, tensors = _used_tensors(sites, tensors)
    return instructions, operands, sites, tensors, outputs


def _operand_sites(instructions: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each operand in order: its instruction, its site, its slot."""
    counts = instructions[:, _INSTRUCTION["operands"]]
    owner = np.repeat(np.arange(len(instructions)), counts)
    slot = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, instructions[owner, _INSTRUCTION["first_operand"]] + slot, slot


def _idle_fills(
    instructions: Rows,
    sites: Rows,
    tensors: Rows,
    owner: NDArray[np.int64],
    number: NDArray[np.int64],
    slot: NDArray[np.int64],
    attributes: list[dict[str, Any]],
) -> NDArray[np.bool_]:
    """Which flagged fills the next instruction on their tensor overwrites altogether, or, of zeros, adds to in PSUM."""
    idle = np.zeros(len(instructions), np.bool_)
    flagged = np.flatnonzero(instructions[:, _FLAG])
    if not len(flagged):
        return idle
    there = sites[number, 0] != NONE
    owner, number, slot = owner[there], number[there], slot[there]
    tensor = sites[number, 0]
    order = np.lexsort((owner, tensor))
    tensor, owner, number, slot = tensor[order], owner[order], number[order], slot[order]
    opcode = instructions[owner, _INSTRUCTION["opcode"]]
    opening = np.array([record.get("accumulate", False) is None for record in attributes], np.bool_)
    added = (opcode == _MATMUL) & opening[instructions[owner, _INSTRUCTION["attributes"]]]
    updates = UPDATES[opcode, np.minimum(slot, UPDATES.shape[1] - 1)] & (opcode != _MATMUL)
    held = tensors[:, _TENSOR["partitions"]] * tensors[:, _TENSOR["elements"]]
    dense = (sites[number, _SITE["offset"]] == 0) & (sites[number, _DENSE] == held[tensor])
    kept = opcode == _MATMUL
    kept &= (
        ~added
        & ~np.array([record.get("accumulate", True) is False for record in attributes], np.bool_)[
            instructions[owner, _INSTRUCTION["attributes"]]
        ]
    )
    replaced = (slot < WRITES[opcode]) & ~updates & ~kept & dense
    fills = np.flatnonzero(instructions[owner, _FLAG] == 1)
    following = fills + 1
    inside = following < len(owner)
    fills, following = fills[inside], following[inside]
    good = (tensor[following] == tensor[fills]) & replaced[following] & _only_write(owner, tensor, following)
    zero = np.array([record.get("value") == 0 for record in attributes], np.bool_)
    good &= zero[instructions[owner[fills], _INSTRUCTION["attributes"]]] | ~added[following]
    idle[owner[fills[good]]] = True
    return idle


def _only_write(owner: NDArray[np.int64], tensor: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the instruction at a touch touches that tensor only once."""
    after = np.minimum(at + 1, len(owner) - 1)
    again = (after != at) & (owner[after] == owner[at]) & (tensor[after] == tensor[at])
    return ~again


_DENSE: Final = len(SCHEMA["accesses"])
"""The column of a site that says how many elements it reaches, each once and without a gap."""


def _used_sites(
    sites: Rows, operands: NDArray[np.int64], outputs: NDArray[np.int64]
) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
    used = np.zeros(len(sites), np.bool_)
    used[operands[operands != NONE]] = True
    used[outputs] = True
    for reference in ("scalar_access", "vector_access"):
        asked = sites[used, _SITE[reference]]
        used[asked[asked != NONE]] = True
    number = np.cumsum(used) - 1
    sites = sites[used]
    for reference in ("scalar_access", "vector_access"):
        column = sites[:, _SITE[reference]]
        sites[:, _SITE[reference]] = np.where(column == NONE, NONE, number[column])
    return sites, np.where(operands == NONE, NONE, number[operands]), number[outputs]


def _used_tensors(sites: Rows, tensors: Rows) -> tuple[Rows, Rows]:
    used = tensors[:, _TENSOR["role"]] == ROLES.index("input")
    used[sites[:, 0]] = True
    number = np.cumsum(used) - 1
    sites[:, 0] = number[sites[:, 0]]
    return sites, tensors[used]
