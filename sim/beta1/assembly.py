"""From the rows that a recorder collected to the tables of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.beta1 import begun, held_before, leftovers, turning
from nki_anvil.sim.beta1.growth import Rows
from nki_anvil.sim.beta1.sites import REFERENCES, different, renumbered
from nki_anvil.sim.beta1.tensors import TENSOR
from nki_anvil.sim.program import NONE, SCHEMA

Tables = dict[str, dict[str, NDArray[Any]]]


class Recorded(NamedTuple):
    """What a trace left: rows of the tables, and the sites that are returned."""

    instructions: Rows
    sites: Rows
    tensors: Rows
    pairs: Sequence[Sequence[int]]
    outputs: Sequence[Sequence[int]]


def tabulated(rows: Recorded, attributes: list[dict[str, Any]]) -> tuple[Tables, list[int], list[int]]:
    """A program's tables without what nothing uses, and the numbers of its tensors' shapes and names."""
    returned = np.array(rows.outputs, np.int64).reshape(-1)
    turning.numbered(rows.instructions)
    held_before.refuse(rows.instructions, rows.sites, attributes)
    cleaned = leftovers.removed(rows.instructions, rows.sites, rows.tensors, returned, attributes)
    instructions, operands, sites, tensors, outputs = cleaned
    orders = turning.orders(instructions, begun.Sums(instructions, operands, sites))
    of, chosen = different(sites)
    for reference in REFERENCES:
        there = chosen[:, reference] != NONE
        chosen[there, reference] = of[chosen[there, reference]]
    tables: Tables = {
        "tensors": _columns("tensors", tensors),
        "accesses": _columns("accesses", chosen),
        "pairs": _columns("pairs", np.array(rows.pairs, np.int64).reshape(-1, 2)),
        "instructions": _columns("instructions", instructions),
        "operands": {"access": renumbered(of, operands).astype("<i4")},
        "regions": _columns("regions", np.zeros((0, len(SCHEMA["regions"])), np.int64)),
        "outputs": {"access": of[outputs].astype("<i4")},
        "orders": {name: column.astype("<i8") for name, column in orders.items()},
    }
    return tables, tensors[:, len(TENSOR)].tolist(), tensors[:, len(TENSOR) + 1].tolist()


def _columns(table: str, rows: Rows) -> dict[str, NDArray[Any]]:
    kinds = SCHEMA[table]
    return {name: np.ascontiguousarray(rows[:, i], dtype="<" + kind) for i, (name, kind) in enumerate(kinds.items())}
