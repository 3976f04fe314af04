"""Small loops, and the same work written out turn by turn: both should cost about the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from program_builder import ProgramBuilder, View

from nki_anvil.sim.program import Program

KINDS = ("load", "store", "vector", "scalar", "gpsimd", "matmul", "evacuate")
Step = tuple[str, int, int, int]
"""What is done, the tiles that it reads and writes, and how wide."""

step = st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 3), st.sampled_from((1, 32, 200, 512)))
backlog = st.builds(
    lambda kind, count: [(kind, 0, 1, 512)] * count,
    st.sampled_from(("load", "vector", "scalar", "gpsimd")),
    st.sampled_from((0, 0, 3, 30)),
)


@dataclass(frozen=True)
class Work:
    """What goes before a loop, its body, and the elements per partition that each tile of a turn takes."""

    before: Sequence[Step]
    body: Sequence[Step]
    size: int = 512
    turns: int = 40


works = st.builds(
    lambda some, junk, body, size: Work([*some, *junk], body, size),
    st.lists(step, max_size=5),
    backlog,
    st.lists(step, min_size=1, max_size=6),
    st.sampled_from((512, 4096, 20_000)),
)


class _Kernel:
    """Tiles 0 and 1 last, 2 and 3 are those of a turn, as the PSUM bank is."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder()
        self.source, self.target = self.builder.input((128, 2048)), self.builder.result((128, 2048))
        self.lasting = self._two(512)
        self.weights = self.builder.tensor((128, 128), "bfloat16")
        self.halves = self.builder.tensor((128, 512), "bfloat16")

    def _two(self, size: int) -> list[View]:
        return [self.builder.tensor((128, size)) for _ in range(2)]

    def add(self, steps: Sequence[Step], size: int) -> None:
        """The steps with two tiles of their own."""
        tiles, bank = [*self.lasting, *self._two(size)], self.builder.tensor((128, 512), memory="psum")
        for kind, one, other, width in steps:
            part, piece = (slice(None), slice(0, width)), (slice(None), slice(one * 512, one * 512 + width))
            reads, writes = tiles[one][part], tiles[other][part]
            made: dict[str, tuple[str, tuple[View | None, ...], dict[str, Any]]] = {
                "load": ("dma_copy", (writes, self.source[piece]), {}),
                "store": ("dma_copy", (self.target[piece], reads), {}),
                "vector": ("tensor_tensor", (writes, reads, writes), {"op": "add"}),
                "scalar": ("activation", (writes, None, reads), {"op": "exp"}),
                "gpsimd": ("tensor_copy", (writes, reads), {"engine": "gpsimd"}),
                "matmul": ("nc_matmul", (bank[part], self.weights, self.halves[part]), {}),
                "evacuate": ("tensor_copy", (writes, bank[part]), {}),
            }
            name, operands, values = made[kind]
            self.builder.emit(name, *operands, **values)


def looped(work: Work) -> Program:
    kernel = _Kernel()
    kernel.add(work.before, 512)
    with kernel.builder.loop("fori", kernel.builder.register(), 0, work.turns):
        kernel.add(work.body, work.size)
    return kernel.builder.program()


def written_out(work: Work) -> Program:
    kernel = _Kernel()
    kernel.add(work.before, 512)
    for _ in range(work.turns):
        kernel.add(work.body, work.size)
    return kernel.builder.program()
