"""Small random programs for properties: a few tiles, and steps of every engine on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from program_builder import ProgramBuilder, View

from nki_anvil.sim.program import Program

KINDS = ("load", "store", "vector", "scalar", "gpsimd", "matmul", "evacuate")
Step = tuple[str, int, int, int]
ENGINE_OF = {"load": "dma", "store": "dma", "matmul": "tensor", "evacuate": "vector"}

step = st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 3), st.sampled_from((1, 32, 200, 512)))
steps = st.lists(step, max_size=25)


class Tiles:
    """Four tiles in each memory; a step names two of them and a width."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder()
        self.source = self.builder.input((128, 2048))
        self.target = self.builder.result((128, 2048))
        self.tiles = [self.builder.tensor((128, 512), line=0) for _ in range(4)]
        self.halves = [self.builder.tensor((128, 512), "bfloat16", line=0) for _ in range(4)]
        self.banks = [self.builder.tensor((128, 512), memory="psum", line=0) for _ in range(4)]

    def add(self, kind: str, one: int, other: int, width: int) -> None:
        emit, tiles = self.builder.emit, self.tiles
        part: tuple[slice, slice] = (slice(None), slice(0, width))
        piece = (slice(None), slice(one * 512, one * 512 + width))
        views: dict[str, tuple[str, tuple[View | None, ...]]] = {
            "load": ("dma_copy", (tiles[other][part], self.source[piece])),
            "store": ("dma_copy", (self.target[piece], tiles[other][part])),
            "vector": ("tensor_tensor", (tiles[one][part], tiles[other][part], tiles[one][part])),
            "scalar": ("activation", (tiles[one][part], None, tiles[other][part])),
            "gpsimd": ("tensor_copy", (tiles[one][part], tiles[other][part])),
            "matmul": ("nc_matmul", (self.banks[one][part], self.halves[one][:, 0:128], self.halves[other][part])),
            "evacuate": ("tensor_copy", (tiles[other][part], self.banks[one][part])),
        }
        name, operands = views[kind]
        values: dict[str, Any] = {"scalar": {"op": "exp" if width > 100 else "tanh"}, "vector": {"op": "add"}}.get(
            kind, {}
        )
        emit(name, *operands, engine="gpsimd" if kind == "gpsimd" else None, **values)


def program(chosen: Sequence[Step]) -> Program:
    tiles = Tiles()
    for one in chosen:
        tiles.add(*one)
    return tiles.builder.program()
