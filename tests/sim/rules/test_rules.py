"""Each rule with a program that breaks it and one just inside the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder, View

from nki_anvil.sim.program import NONE
from nki_anvil.sim.rules import TABLE, check

FP32_MIN = float(np.finfo(np.float32).min)


class Kernel(ProgramBuilder):
    """A builder whose tiles are written when they are made, so that only the rule in question can break."""

    def sbuf(self, *shape: int, dtype: str = "float32", **options: Any) -> View:
        tile = self.tensor(shape, dtype, **options)
        self.emit("memset", tile, value=0, line=900)
        return tile

    def psum(self, *shape: int, dtype: str = "float32", **options: Any) -> View:
        return self.sbuf(*shape, dtype=dtype, memory="psum", **options)

    def hbm(self, *shape: int, dtype: str = "float32") -> View:
        return self.input(shape, dtype)


def codes(kernel: ProgramBuilder) -> set[str]:
    return {finding.code for finding in check(kernel.program()) if finding.line not in (0, 900)}


def matmul(k: Kernel, stationary: View, moving: View, dst: View, **attributes: Any) -> None:
    k.emit("nc_matmul", dst, stationary, moving, accumulate=False, line=5, **attributes)


def product(
    rows: int = 128, m: int = 128, n: int = 512, dtypes: tuple[str, str] = ("float32", "float32"), **rest: Any
) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        matmul(k, k.sbuf(rows, m, dtype=dtypes[0]), k.sbuf(rows, n, dtype=dtypes[1]), k.psum(m, n), **rest)

    return build


def corner(row: int) -> Callable[[Kernel], None]:
    """A product of what lies in the lower half of the partitions, in the tile of the array from a row on."""

    def build(k: Kernel) -> None:
        left, right = k.sbuf(128, 64), k.sbuf(128, 512)
        matmul(k, left[64:128], right[64:128], k.psum(64, 512), tile_position=[row, 0], tile_size=[64, 64])

    return build


def drained(row: int) -> Callable[[Kernel], None]:
    """A product without a tile, written from a partition on."""

    def build(k: Kernel) -> None:
        matmul(k, k.sbuf(32, 32), k.sbuf(32, 512), k.psum(128, 512)[row : row + 32])

    return build


def engine(name: str, *shapes: Any, **attributes: Any) -> Callable[[Kernel], None]:
    """An instruction on tiles given as (memory, shape, dtype); None for an empty slot."""

    def build(k: Kernel) -> None:
        tiles = [
            None if s is None else k.hbm(*s[1], dtype=s[2]) if s[0] == "hbm" else k.sbuf(*s[1], dtype=s[2], memory=s[0])
            for s in shapes
        ]
        k.emit(name, *tiles, line=5, **attributes)

    return build


def s(*shape: int, dtype: str = "float32") -> Any:
    return ("sbuf", shape, dtype)


def p(*shape: int, dtype: str = "float32") -> Any:
    return ("psum", shape, dtype)


def h(*shape: int, dtype: str = "float32") -> Any:
    return ("hbm", shape, dtype)


def part(first: int, count: int) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        tile = k.sbuf(128, 4)[first : first + count]
        k.emit("reciprocal", tile, tile, line=5)

    return build


def allocate(
    memory: str, *shape: int, dtype: str = "float32", address: tuple[int, int] = (NONE, NONE)
) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        k.tensor(shape, dtype, memory, line=5, address=address)

    return build


def held(memory: str, count: int, elements: int) -> Callable[[Kernel], None]:
    """Tiles that are all in use at once."""

    def build(k: Kernel) -> None:
        tiles = [k.tensor((128, elements), "float32", memory, line=5) for _ in range(count)]
        for tile in (*tiles, *tiles):
            k.emit("memset", tile, value=0, line=6)

    return build


def pattern(*pairs: tuple[int, int]) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        tile = k.sbuf(4, 70_000, dtype="bfloat16")
        last = k.sbuf(4, 1, dtype="bfloat16").ap([(1, 4), *((0, count) for _, count in pairs)])
        k.emit("reciprocal", last, tile.ap([(70_000, 4), *pairs]), line=5)

    return build


def beside(start: int) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        whole = k.sbuf(64, 4)
        k.emit("tensor_tensor", k.sbuf(32, 4), whole[0:32], whole[start : start + 32], op="add", line=5)

    return build


def strided_partitions(step: int) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        view = k.sbuf(8, 6).ap([(step, 4), (1, 6)])
        k.emit("reciprocal", view, view, line=5)

    return build


def in_a_loop(flag: bool | None) -> Callable[[Kernel], None]:
    """A matmul in a device loop, into PSUM from outside of it."""

    def build(k: Kernel) -> None:
        a, dst = k.sbuf(4, 4), k.psum(4, 4)
        with k.loop("fori", k.register(), upper=3):
            k.emit("nc_matmul", dst, a, a, accumulate=flag, line=5)

    return build


def accumulate(*flags: Any, before: str = "") -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        a = k.sbuf(4, 4)
        dst = k.tensor((4, 4), memory="psum")
        if before:
            k.emit("memset", dst, value=0, line=4)
        for flag in flags:
            k.emit("nc_matmul", dst, a, a, accumulate=flag, line=5)

    return build


def output(memory: str, *shape: int) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        out = k.tensor(shape, "float32", memory, line=5)
        k.emit("dma_copy", out, k.constant(np.zeros((1,), np.float32)).ap([(0, n) for n in shape]), line=900)
        k.output(out)

    return build


def viewed(*pairs: tuple[int, int]) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        out = k.tensor((4, 4), "float32", "shared_hbm", line=5)
        k.emit("dma_copy", out, k.constant(np.zeros((1,), np.float32)).ap([(0, 4), (0, 4)]), line=900)
        k.output(out.ap(list(pairs)))

    return build


def gathered(memory: str) -> Callable[[Kernel], None]:
    def build(k: Kernel) -> None:
        source = k.hbm(8, 4) if memory == "hbm" else k.sbuf(8, 4)
        k.emit("dma_copy", k.sbuf(8, 4), k.gathered(source, 4, k.sbuf(8, 1, dtype="int32")), line=5)

    return build


def gathers_and_adds(to: str) -> Callable[[Kernel], None]:
    """A sum of gathered rows and a tile, into that tile or another, or all of it in HBM."""

    def build(k: Kernel) -> None:
        dst = k.hbm(8, 4) if to == "HBM" else k.sbuf(8, 4)
        rows = k.gathered(k.hbm(16, 4)[0:8], 4, k.sbuf(8, 1, dtype="int32"))
        k.emit("dma_compute", dst, k.sbuf(8, 4) if to == "another tile" else dst, rows, reduce_op="add",
               unique_indices=True, line=5)  # fmt: skip

    return build


def scatters_and_adds(by: str) -> Callable[[Kernel], None]:
    """A sum of rows in HBM and a tile, put back by the same index tile or by another."""

    def build(k: Kernel) -> None:
        table, index = k.tensor((16, 4), "float32", "shared_hbm", line=900)[0:8], k.sbuf(8, 1, dtype="int32")
        back = index if by == "the same" else k.sbuf(8, 1, dtype="int32")
        k.emit("dma_compute", k.gathered(table, 4, back), k.gathered(table, 4, index), k.sbuf(8, 4), reduce_op="add",
               unique_indices=True, line=5)  # fmt: skip

    return build


def fresh(name: str, width: int, **attributes: Any) -> Callable[[Kernel], None]:
    """An instruction that reads a tile of which ``width`` of eight columns are written."""

    def build(k: Kernel) -> None:
        dtype = "int32" if name == "register_load" else "float32"
        tile = k.tensor((4, 8), dtype, line=5 if name == "output" else 900)
        k.emit("memset", tile[:, 0:width], value=0, line=900)
        if name == "output":
            out = k.tensor((4, 8), memory="shared_hbm", line=5)
            k.output(out)
            k.emit("dma_copy", out, tile, line=5)
        elif name == "register_load":
            k.emit(name, tile[0:1, 7:8], register=k.register(), line=5)
        elif name == "nc_matmul":
            matmul(k, tile, k.sbuf(4, 4), k.psum(8, 4))
        elif name == "tensor_reduce":
            k.emit(name, k.sbuf(4, 1), tile, op="add", axes=[1], line=5)
        else:
            k.emit(name, k.sbuf(4, 8), tile, line=5)

    return build


def registers(count: int) -> Callable[[Kernel], Any]:
    """So many are set, and then each moves an access."""

    def build(k: Kernel) -> None:
        tile, held = k.sbuf(4, 128), [k.register() for _ in range(count)]
        for number, register in enumerate(held):
            k.emit("register_move", register=register, source=None, value=number % 128, line=5)
        for register in held:
            k.emit("memset", k.shifted(tile[:, 0:1], 1, register=register), value=0.0)

    return build


def counted(own: bool) -> Callable[[Kernel], Any]:
    """A loop whose body sets a register: the one that it ends at, or another."""

    def build(k: Kernel) -> None:
        end, other = k.register(), k.register()
        for register in (end, other):
            k.emit("register_move", register=register, source=None, value=3)
        with k.loop("fori", k.register(), upper_register=end):
            k.emit("register_move", register=end if own else other, source=None, value=1, line=5)

    return build


INT32 = "int32"
F16 = "bfloat16"
SELECT = {"comp_op0": "less", "comp_op1": "less", "reduce_op": "maximum", "reduce_cmd": "reset_reduce"}
SUM = {"reduce_op": "add", "reduce_cmd": "reset_reduce"}
MASK = list(range(32))

CASES: dict[str, tuple[Callable[[Kernel], Any], Callable[[Kernel], Any]]] = {
    "TRN2-PART-128": (allocate("sbuf", 129, 4), allocate("sbuf", 128, 4)),
    "TRN2-PART-START": (part(32, 33), part(64, 64)),
    "TRN2-PART-STEP": (strided_partitions(12), strided_partitions(6)),
    "TRN2-PART-PAIR": (beside(32), beside(0)),
    "TRN2-SBUF-TILE": (allocate("sbuf", 128, 53247), allocate("sbuf", 128, 53246)),
    "TRN2-SBUF-CAP": (held("sbuf", 4, 13312), held("sbuf", 4, 13311)),
    "TRN2-PSUM-TILE": (allocate("psum", 128, 4097), allocate("psum", 128, 4096)),
    "TRN2-PSUM-CAP": (held("psum", 2, 2049), held("psum", 2, 2048)),
    "TRN2-PSUM-BANKS": (held("psum", 9, 16), held("psum", 8, 16)),
    "TRN2-REGISTERS": (registers(65), registers(64)),
    "TRN2-LOOP-BOUND": (counted(own=True), counted(own=False)),
    "TRN2-MM-PLACE": (engine("nc_matmul", s(4, 4), s(4, 4), s(4, 4), accumulate=False), product()),
    "TRN2-MM-SHAPE": (product(n=513), product()),
    "TRN2-MM-DTYPE": (product(dtypes=("float32", F16)), product(dtypes=("float32", "tfloat32"))),
    "TRN2-MM-DST": (engine("nc_matmul", p(4, 4, dtype=F16), s(4, 4), s(4, 4), accumulate=False), product()),
    "TRN2-MM-TILE": (
        product(64, 128, tile_position=[32, 0], tile_size=[64, 128]),
        product(64, 128, tile_position=[64, 0], tile_size=[64, 128]),
    ),
    "TRN2-MM-WHOLE": (drained(32), drained(0)),
    "TRN2-MM-CORNER": (corner(0), corner(64)),
    "TRN2-MM-ROWS": (
        engine(
            "nc_matmul",
            p(4, 4),
            s(8, 8, dtype="float8_e4m3"),
            s(8, 8, dtype="float8_e5m2"),
            perf_mode="double_row",
            accumulate=False,
        ),
        engine(
            "nc_matmul",
            p(4, 4),
            s(8, 2, 4, dtype="float8_e4m3"),
            s(8, 2, 4, dtype="float8_e5m2"),
            perf_mode="double_row",
            accumulate=False,
        ),
    ),
    "TRN2-PSUM-BANK": (
        lambda k: matmul(k, k.sbuf(4, 4), k.sbuf(4, 8), k.psum(4, 1024)[:, 508:516]),
        lambda k: matmul(k, k.sbuf(4, 4), k.sbuf(4, 8), k.psum(4, 1024)[:, 512:520]),
    ),
    "TRN2-MM-MOVE": (
        engine("nc_matmul", p(4, 4), s(4, 4), s(4, 4), is_transpose=True, accumulate=True),
        engine("nc_matmul", p(4, 4), s(4, 4), s(4, 4), is_transpose=True, accumulate=False),
    ),
    "TRN2-TRANSPOSE": (
        engine("nc_transpose", s(33, 4), s(4, 33), engine="vector"),
        engine("nc_transpose", s(32, 4), s(4, 32), engine="vector"),
    ),
    "TRN2-PSUM-LOOP": (in_a_loop(None), in_a_loop(False)),
    "TRN2-PSUM-UNSET": (accumulate(True), accumulate(False, True)),
    "TRN2-PSUM-MEMSET": (accumulate(True, before="memset"), accumulate(False, True, before="memset")),
    "TRN2-ENG-PSUM": (
        engine("tensor_copy", s(4, 4), p(4, 4), engine="gpsimd"),
        engine("tensor_copy", s(4, 4), s(4, 4), engine="gpsimd"),
    ),
    "TRN2-ENG-HBM": (engine("tensor_copy", s(4, 4), h(4, 4)), engine("dma_copy", s(4, 4), h(4, 4))),
    "TRN2-ENG-BOTH": (
        engine("tensor_tensor", s(4, 4), p(4, 4), p(4, 4), op="add"),
        engine("tensor_tensor", s(4, 4), p(4, 4), s(4, 4), op="add"),
    ),
    "TRN2-ENG-CHOICE": (
        engine("tensor_scalar", s(4, 4), s(4, 4), op0="maximum", value0=0.0, engine="scalar"),
        engine("tensor_scalar", s(4, 4), s(4, 4), op0="multiply", value0=2.0, engine="scalar"),
    ),
    "TRN2-INT-FP32": (
        engine("tensor_tensor", *[s(4, 4, dtype=INT32)] * 3, op="add"),
        engine("tensor_tensor", *[s(4, 4, dtype=INT32)] * 3, op="add", engine="gpsimd"),
    ),
    "TRN2-BITVEC": (
        engine("tensor_tensor", *[s(4, 4)] * 3, op="bitwise_and"),
        engine("tensor_tensor", *[s(4, 4, dtype=INT32)] * 3, op="bitwise_and"),
    ),
    "TRN2-DMA-PSUM": (engine("dma_copy", h(4, 4), p(4, 4)), engine("dma_copy", h(4, 4), s(4, 4))),
    "TRN2-DMA-PSUM-DST": (engine("dma_copy", p(4, 4), h(4, 4)), engine("dma_copy", s(4, 4), h(4, 4))),
    "TRN2-DMA-COUNT": (engine("dma_copy", s(4, 4), h(4, 5)), engine("dma_copy", s(4, 4), h(2, 8))),
    "TRN2-DMA-HWDGE": (
        engine("dma_copy", s(4, 4, dtype=F16), h(4, 4), dge_mode="hwdge"),
        engine("dma_copy", s(4, 4), h(4, 4), dge_mode="hwdge"),
    ),
    "TRN2-DMA-GATHER": (gathered("sbuf"), gathered("hbm")),
    "TRN2-DMA-TRANSPOSE": (
        engine("dma_transpose", s(4, 8, dtype="int8"), h(8, 4, dtype="int8"), axes=[1, 0]),
        engine("dma_transpose", s(4, 8), h(8, 4), axes=[1, 0]),
    ),
    "TRN2-DMA-TRANSPOSE-HW": (
        engine("dma_transpose", s(4, 8, dtype=F16), h(8, 4, dtype=F16), dge_mode="hwdge"),
        engine("dma_transpose", s(4, 16, dtype=F16), h(16, 4, dtype=F16), dge_mode="hwdge"),
    ),
    "TRN2-DMA-COMPUTE": (
        engine("dma_compute", s(4, 4), h(4, 4), reduce_op="multiply"),
        engine("dma_compute", s(4, 4), h(4, 4), reduce_op="add"),
    ),
    "TRN2-DMA-COMPUTE-IX": (gathers_and_adds("another tile"), gathers_and_adds("itself")),
    "TRN2-DMA-INT": (
        engine("dma_copy", s(4, 4, dtype=INT32), h(4, 4, dtype="uint32")),
        engine("dma_copy", s(4, 4, dtype=INT32), h(4, 4, dtype=INT32)),
    ),
    "TRN2-SHAPE": (
        engine("tensor_tensor", s(4, 4), s(4, 4), s(4, 5), op="add"),
        engine("tensor_tensor", s(4, 4), s(4, 4), s(4, 2, 2), op="add"),
    ),
    "TRN2-COLUMN": (
        engine("tensor_scalar", s(4, 4), s(4, 4), s(4, 2), op0="add"),
        engine("tensor_scalar", s(4, 4), s(4, 4), s(4, 1), op0="add"),
    ),
    "TRN2-COLUMN-FP32": (
        engine("tensor_scalar", s(4, 4), s(4, 4), s(4, 1, dtype=F16), op0="add"),
        engine("activation", s(4, 4), None, s(4, 4), s(4, 1, dtype=F16), op="exp"),
    ),
    "TRN2-ACT": (
        engine("activation_reduce", s(4, 4), s(4, 1), s(4, 4), op="exp", reduce_op="maximum"),
        engine("activation_reduce", s(4, 4), s(4, 1), s(4, 4), op="exp", reduce_op="add"),
    ),
    "TRN2-ACT-IDLE": (
        engine("activation", s(4, 4), s(4, 1), s(4, 4), op="exp", reduce_op="add"),
        engine("activation", s(4, 4), s(4, 1), s(4, 4), op="exp", reduce_op="add", reduce_cmd="reset_reduce"),
    ),
    "TRN2-PREDICATE": (
        engine("tensor_copy_predicated", s(4, 4), s(4, 4), s(4, 4)),
        engine("tensor_copy_predicated", s(4, 4), s(4, 4), s(4, 4, dtype="uint8")),
    ),
    "TRN2-SELECT": (
        engine("range_select", s(4, 4), s(4, 1), s(4, 4), s(4, 1), s(4, 1), on_false_value=0.0, **SELECT),
        engine("range_select", s(4, 4), s(4, 1), s(4, 4), s(4, 1), s(4, 1), on_false_value=FP32_MIN, **SELECT),
    ),
    "TRN2-SCALAR-REDUCE": (
        engine("tensor_scalar_reduce", s(4, 4), s(4, 1), s(4, 4), op0="subtract", value0=1.0, reverse0=True, **SUM),
        engine("tensor_scalar_reduce", s(4, 4), s(4, 1), s(4, 4), op0="subtract", value0=1.0, **SUM),
    ),
    "TRN2-MEMSET": (engine("memset", s(4, 4, dtype=INT32), value=1.5), engine("memset", s(4, 4, dtype=INT32), value=1)),
    "TRN2-REDUCE": (
        engine("tensor_reduce", s(4, 3), s(4, 3, 5), op="add", axes=[1]),
        engine("tensor_reduce", s(4, 3), s(4, 3, 5), op="add", axes=[2]),
    ),
    "TRN2-REGISTER": (
        lambda k: k.emit("register_load", k.sbuf(2, 1, dtype=INT32), register=k.register(), line=5),
        lambda k: k.emit("register_load", k.sbuf(1, 1, dtype=INT32), register=k.register(), line=5),
    ),
    "TRN2-AP-SIZE": (pattern((1, 65_537)), pattern((0, 2), (1, 65_536))),
    "TRN2-AP-PATTERN": (pattern((32_768, 2)), pattern((32_767, 2))),
    "TRN2-BN": (engine("bn_stats", s(4, 6), s(4, 513)), engine("bn_stats", s(4, 6), s(4, 512))),
    "TRN2-EIGHT": (engine("max8", s(4, 8), s(4, 7)), engine("max8", s(4, 8), s(4, 8))),
    "TRN2-AFFINE": (
        engine("iota", s(4, 6, dtype=INT32), pattern=[[1, 5]]),
        engine("iota", s(4, 6, dtype=INT32), pattern=[[3, 2], [1, 3]]),
    ),
    "TRN2-GATHER": (
        engine("nc_n_gather", s(4, 6), s(4, 6), s(4, 6, dtype=INT32)),
        engine("nc_n_gather", s(4, 6), s(4, 6), s(4, 6, dtype="uint32")),
    ),
    "TRN2-SHUFFLE": (
        engine("nc_stream_shuffle", s(32, 4), s(32, 4), shuffle_mask=[*MASK[1:], 32]),
        engine("nc_stream_shuffle", s(32, 4), s(32, 4), shuffle_mask=MASK),
    ),
    "TRN2-TOPK": (
        engine("topk", s(16, 4, dtype=F16), s(16, 4, dtype="uint32"), s(16, 4, dtype=F16), n=7),
        engine("topk", s(16, 4, dtype=F16), s(16, 4, dtype="uint32"), s(16, 4, dtype=F16), n=8),
    ),
    "TRN2-INT32": (
        engine("iota", s(4, 6, dtype=INT32), pattern=[[1, 6]], offset=1 << 31),
        engine("iota", s(4, 6, dtype=INT32), pattern=[[1, 6]], offset=-(1 << 31)),
    ),
    "TRN2-OUT-SHARED": (output("private_hbm", 4, 4), output("shared_hbm", 4, 4)),
    "TRN2-OUT-VIEW": (viewed((1, 4), (4, 4)), viewed((8, 2), (1, 8))),
    "TRN2-OUT-SIZE": (output("shared_hbm", 1 << 15, 1 << 15), output("shared_hbm", 1 << 15, (1 << 15) - 1)),
    "TRN2-INIT-OUTPUT": (fresh("output", 7), fresh("output", 8)),
    "TRN2-INIT-MATMUL": (fresh("nc_matmul", 7), fresh("nc_matmul", 8)),
    "TRN2-INIT-REDUCE": (fresh("tensor_reduce", 7), fresh("tensor_reduce", 8)),
    "TRN2-INIT-REGISTER": (fresh("register_load", 7), fresh("register_load", 8)),
    "TRN2-INIT-READ": (fresh("reciprocal", 7), fresh("reciprocal", 8)),
}


@pytest.mark.parametrize("code", CASES)
def test_a_rule_finds_its_breach_and_nothing_just_inside_the_limit(code: str) -> None:
    bad, good = Kernel(), Kernel()
    CASES[code][0](bad)
    CASES[code][1](good)
    assert code in codes(bad)
    assert codes(good) == set()


@pytest.mark.parametrize(
    ("dtype", "value", "refused"),
    [("uint8", 255, False), ("uint8", 256, True), ("uint32", -1, True), ("int8", -128, False), ("bool_", True, False)],
)
def test_memset_fills_with_what_the_format_holds(dtype: str, value: int, refused: bool) -> None:
    k = Kernel()
    engine("memset", s(4, 4, dtype=dtype), value=value)(k)
    assert ("TRN2-MEMSET" in codes(k)) is refused


def test_a_float_zero_fills_integers_as_well() -> None:
    k = Kernel()
    engine("memset", s(4, 4, dtype=INT32), value=0.0)(k)
    assert codes(k) == set()


@pytest.mark.parametrize(
    ("operators", "refused"),
    [(("add", "rsqrt"), False), (("rsqrt", None), False), (("multiply", "add"), True), (("maximum", None), True)],
)
def test_tensor_scalar_on_gpsimd_computes_rsqrt(operators: tuple[str, str | None], refused: bool) -> None:
    k, (first, second) = Kernel(), operators
    values = {"value0": None if first == "rsqrt" else 1.0, "value1": 1.0 if second == "add" else None}
    engine("tensor_scalar", s(4, 4), s(4, 4), op0=first, op1=second, engine="gpsimd", **values)(k)
    assert ("TRN2-ENG-CHOICE" in codes(k)) is refused


@pytest.mark.parametrize("name", ["tensor_scalar", "tensor_scalar_reduce", "scalar_tensor_tensor"])
def test_the_vector_engine_has_no_root(name: str) -> None:
    k, old = Kernel(), Kernel("beta1")
    for kernel in (k, old):
        if name == "tensor_scalar_reduce":
            engine(name, s(4, 4), s(4, 1), s(4, 4), op0="rsqrt", **SUM)(kernel)
        elif name == "tensor_scalar":
            engine(name, s(4, 4), s(4, 4), op0="add", value0=1.0, op1="rsqrt", engine="vector")(kernel)
        else:
            engine(name, s(4, 4), s(4, 4), None, s(4, 4), op0="rsqrt", op1="add")(kernel)
    assert codes(k) == {"TRN2-ENG-CHOICE"}
    assert codes(old) == set()


@pytest.mark.parametrize("name", ["tensor_scalar", "tensor_scalar_reduce", "scalar_tensor_tensor"])
@pytest.mark.parametrize(("op", "refused"), [("square", True), ("relu", True), ("bypass", True), ("abs", False)])
def test_beside_a_scalar_this_chip_takes_magnitudes_but_no_squares(name: str, op: str, refused: bool) -> None:
    k = Kernel()
    if name == "tensor_scalar_reduce":
        engine(name, s(4, 4), s(4, 1), s(4, 4), op0=op, **SUM)(k)
    elif name == "tensor_scalar":
        engine(name, s(4, 4), s(4, 4), op0="multiply", value0=2.0, op1=op)(k)
    else:
        engine(name, s(4, 4), s(4, 4), None, s(4, 4), op0=op, op1="add")(k)
    assert codes(k) == ({"TRN2-ALU-LATER"} if refused else set())


def test_what_a_later_chip_has_is_left_to_the_older_dialects_own_pages() -> None:
    k = Kernel("beta1")
    engine("tensor_scalar", s(4, 4), s(4, 4), op0="square")(k)
    engine("tensor_tensor", s(4, 4), s(4, 4), s(4, 4), op="square")(k)
    assert codes(k) == set()


@pytest.mark.parametrize(
    ("name", "op", "refused"),
    [
        *((name, op, True) for name in ("tensor_tensor", "scalar_tensor_tensor") for op in ("reciprocal", "square")),
        *(("tensor_tensor", op, False) for op in ("rsqrt", "abs", "maximum")),
        ("tensor_tensor", "bypass", True),
        ("scalar_tensor_tensor", "rsqrt", True),
        ("tensor_tensor_scan", "rsqrt", True),
        ("tensor_tensor_scan", "bypass", True),
        ("tensor_tensor_scan", "minimum", False),
    ],
)
def test_two_tiles_are_combined_by_what_takes_two_operands(name: str, op: str, refused: bool) -> None:
    k = Kernel()
    if name == "tensor_tensor":
        engine(name, s(4, 4), s(4, 4), s(4, 4), op=op)(k)
    elif name == "scalar_tensor_tensor":
        engine(name, s(4, 4), s(4, 4), None, s(4, 4), op0="add", value0=1.0, op1=op)(k)
    else:
        engine(name, s(4, 4), s(4, 4), s(4, 4), op0="add", op1=op, initial_value=0.0)(k)
    assert codes(k) == ({"TRN2-ALU-BINARY"} if refused else set())


@pytest.mark.parametrize(("op", "refused"), [("bitwise_or", True), ("add", False)])
def test_what_bit_operators_leave_is_not_negated(op: str, refused: bool) -> None:
    k = Kernel()
    engine("tensor_reduce", s(4, 1, dtype=INT32), s(4, 4, dtype=INT32), op=op, axes=[1], negate=True)(k)
    assert ("TRN2-BITVEC" in codes(k)) is refused


@pytest.mark.parametrize(
    ("op", "refused"), [("average", True), ("subtract", True), ("add", False), ("logical_or", False)]
)
def test_free_dimensions_are_summed_and_never_averaged_or_subtracted(op: str, refused: bool) -> None:
    k = Kernel()
    engine("tensor_reduce", s(4, 1), s(4, 4), op=op, axes=[1])(k)
    assert codes(k) == ({"TRN2-REDUCE-OP"} if refused else set())


@pytest.mark.parametrize(("op", "refused"), [("power", True), ("logical_or", True), ("subtract", False)])
def test_cumulative_instructions_have_operators_of_their_own(op: str, refused: bool) -> None:
    k, asked = Kernel(), {"op0": "add", "value0": 1.0, "value1": 1.0, "reduce_cmd": "load_reduce"}
    engine("tensor_scalar_cumulative", s(4, 4), s(4, 4), op1=op, **asked)(k)
    assert codes(k) == ({"TRN2-REDUCE-OP"} if refused else set())


@pytest.mark.parametrize(("op", "refused"), [("bitwise_xor", True), ("bitwise_or", False)])
def test_partitions_are_reduced_by_what_the_page_names(op: str, refused: bool) -> None:
    k = Kernel()
    engine("tensor_partition_reduce", s(1, 4, dtype=INT32), s(4, 4, dtype=INT32), op=op)(k)
    assert codes(k) == ({"TRN2-REDUCE-OP"} if refused else set())


@pytest.mark.parametrize(
    ("command", "op", "refused"),
    [("reset_reduce", None, True), ("reduce", None, True), ("reset_reduce", "add", False), ("reset", None, False)],
)
def test_an_activation_that_accumulates_says_by_what(command: str, op: str | None, refused: bool) -> None:
    k = Kernel()
    engine("activation", s(4, 4), s(4, 1), s(4, 4), op="exp", reduce_op=op, reduce_cmd=command)(k)
    assert ("TRN2-ACT" in codes(k)) is refused


@pytest.mark.parametrize(
    ("source", "target", "refused"),
    [
        ((0, 128), (32, 64), True),
        ((0, 64), (96, 128), True),
        ((0, 64), (64, 96), False),
        ((0, 1), (32, 64), False),
        ((96, 128), (32, 64), False),
    ],
)
def test_a_shuffle_starts_on_both_sides_where_the_larger_one_may(
    source: tuple[int, int], target: tuple[int, int], refused: bool
) -> None:
    k = Kernel()
    mask = [0] * len(MASK)
    k.emit(
        "nc_stream_shuffle", k.sbuf(128, 4)[slice(*target)], k.sbuf(128, 4)[slice(*source)], shuffle_mask=mask, line=5
    )
    assert codes(k) == ({"TRN2-SHUFFLE"} if refused else set())


@pytest.mark.parametrize(("value", "refused"), [(1 << 32, True), ((1 << 32) - 1, False), (-(1 << 31) - 1, True)])
def test_a_register_holds_32_bits(value: int, refused: bool) -> None:
    k = Kernel()
    k.emit("register_move", register=k.register(), value=value, line=5)
    assert codes(k) == ({"TRN2-INT32"} if refused else set())


@pytest.mark.parametrize("name", ["index_offset", "padding_val"])
def test_what_is_told_beside_nonzero_places_has_32_bits(name: str) -> None:
    k = Kernel()
    engine("nonzero_with_count", s(16, 5, dtype=INT32), s(16, 4), **{name: 1 << 31})(k)
    assert codes(k) == {"TRN2-INT32"}


@pytest.mark.parametrize(("shape", "refused"), [((4, 2, 2, 2, 3), True), ((4, 2, 4, 3), False)])
def test_what_is_reduced_beside_a_scalar_has_three_free_dimensions(shape: tuple[int, ...], refused: bool) -> None:
    k = Kernel()
    engine("tensor_scalar_reduce", s(4, 24), s(4, 1), s(*shape), op0="add", value0=1.0, **SUM)(k)
    assert codes(k) == ({"TRN2-AP-PATTERN"} if refused else set())


@pytest.mark.parametrize(
    ("command", "start", "refused"),
    [
        ("load_reduce", None, True),
        ("load_reduce", 0.0, False),
        ("reset_reduce", 0.0, True),
        ("reset_reduce", None, False),
        ("reset", None, True),
        ("idle", None, True),
    ],
)
def test_a_reduction_beside_a_scalar_has_a_first_value_exactly_where_it_loads_one(
    command: str, start: float | None, refused: bool
) -> None:
    k, asked = Kernel(), {"op0": "add", "value0": 1.0, "reduce_op": "add", "reduce_cmd": command}
    engine("tensor_scalar_reduce", s(4, 4), s(4, 1), s(4, 4), reduce_init_value=start, **asked)(k)
    assert ("TRN2-REDUCE-CMD" in codes(k)) is refused


def test_a_reduction_may_load_its_first_values_from_a_tile() -> None:
    k, asked = Kernel(), {"op0": "add", "value0": 1.0, "reduce_op": "add", "reduce_cmd": "load_reduce"}
    engine("tensor_scalar_reduce", s(4, 4), s(4, 1), s(4, 4), None, s(4, 1), **asked)(k)
    assert codes(k) == set()


@pytest.mark.parametrize(
    ("command", "refused"), [("reset", True), ("load_reduce", True), ("idle", False), ("reset_reduce", False)]
)
def test_a_select_resets_its_accumulators_only_while_it_reduces(command: str, refused: bool) -> None:
    k, asked = Kernel(), {"on_false_value": 0.0, "reduce_op": "maximum", "reduce_cmd": command}
    engine("select_reduce", s(4, 4), None, s(4, 4, dtype="uint8"), s(4, 4), **asked)(k)
    assert ("TRN2-REDUCE-CMD" in codes(k)) is refused


@pytest.mark.parametrize(
    ("ids", "bounds", "refused"),
    [("float32", INT32, False), (INT32, "float32", False), ("uint8", INT32, True), (INT32, "int16", True)],
)
def test_bounds_of_sequences_are_of_32_bits_as_their_numbers_are(ids: str, bounds: str, refused: bool) -> None:
    k = Kernel()
    engine("sequence_bounds", s(1, 2, 16, dtype=bounds), s(1, 16, dtype=ids))(k)
    assert codes(k) == ({"TRN2-FORMAT"} if refused else set())


@pytest.mark.parametrize(
    ("name", "shapes", "refused"),
    [
        ("max8", [(4, 8), (4, 2, 3, 4)], True),
        ("max8", [(4, 8), (4, 6, 4)], False),
        ("max8", [(4, 2, 4), (4, 24)], True),
        ("nc_find_index8", [(4, 8), (4, 24), (4, 2, 2, 2)], True),
        ("nc_find_index8", [(4, 8), (4, 6, 4), (4, 2, 4)], False),
    ],
)
def test_eight_largest_are_found_in_three_dimensions_at_most(name: str, shapes: list[Any], refused: bool) -> None:
    k = Kernel()
    first, *rest = shapes
    engine(name, s(*first, dtype="uint32" if name == "nc_find_index8" else "float32"), *(s(*one) for one in rest))(k)
    assert codes(k) == ({"TRN2-EIGHT"} if refused else set())


@pytest.mark.parametrize(
    ("width", "run", "valid", "refused"),
    [(64, 2, 16, True), (32, 2, 16, False), (16, 1, None, False), (8, 1, 8, False)],
)
def test_a_gather_of_runs_fills_its_destination(width: int, run: int, valid: int | None, refused: bool) -> None:
    k, asked = Kernel(), {"num_elem_per_idx": run, "num_valid_indices": valid}
    engine("local_gather", s(16, width), s(16, 64), s(16, 1, dtype="uint16"), **asked)(k)
    assert codes(k) == ({"TRN2-GATHER"} if refused else set())


@pytest.mark.parametrize(("compare", "refused"), [("not_equal", True), ("equal", False), ("greater", False)])
def test_range_select_compares_in_order_or_for_equality(compare: str, refused: bool) -> None:
    k, asked = Kernel(), {**SELECT, "comp_op1": compare, "on_false_value": FP32_MIN}
    engine("range_select", s(4, 4), s(4, 1), s(4, 4), s(4, 1), s(4, 1), **asked)(k)
    assert ("TRN2-SELECT" in codes(k)) is refused


@pytest.mark.parametrize(
    ("engine", "refused"), [("sync", False), ("scalar", False), ("vector", True), ("gpsimd", True)]
)
def test_a_transfer_starts_from_an_engine_that_has_descriptors(engine: str, refused: bool) -> None:
    k = ProgramBuilder()
    k.emit("dma_copy", k.tensor((4, 4)), k.input((4, 4)), trigger=engine, dge_mode="hwdge")
    assert ("TRN2-DMA-HWDGE" in codes(k)) is refused


@pytest.mark.parametrize(
    ("mode", "trigger", "refused"),
    [
        ("hwdge", "sync", False),
        ("swdge", "sync", True),
        ("none", "scalar", True),
        ("unknown", "sync", True),
        ("unknown", "unknown", False),
        ("swdge", None, False),
    ],
)
def test_who_starts_a_transfer_is_named_beside_hardware_descriptors_alone(
    mode: str, trigger: str | None, refused: bool
) -> None:
    k = Kernel()
    engine("dma_copy", s(4, 4), h(4, 4), dge_mode=mode, trigger=trigger)(k)
    assert codes(k) == ({"TRN2-DMA-HWDGE"} if refused else set())


def test_a_transfer_at_a_fixed_place_has_nothing_to_skip() -> None:
    k = Kernel()
    engine("dma_compute", s(4, 4), s(4, 4), s(4, 4), reduce_op="add", oob_mode="skip")(k)
    assert codes(k) == {"TRN2-DMA-SKIP"}


def test_rules_have_different_codes_a_remedy_and_a_source() -> None:
    assert len({rule.code for rule in TABLE}) == len(TABLE)
    assert all(rule.remedy.endswith(".") and rule.source and rule.text.endswith(".") for rule in TABLE)
    assert {rule.severity for rule in TABLE} == {"error", "warning"}


def test_equal_breaches_of_one_line_are_one_finding_with_their_number() -> None:
    k = Kernel()
    for _ in range(7):
        CASES["TRN2-ENG-PSUM"][0](k)
    (finding,) = [f for f in check(k.program()) if f.code == "TRN2-ENG-PSUM"]
    assert (finding.line, finding.count) == (5, 7)


def test_findings_come_in_one_order_errors_first() -> None:
    k = Kernel()
    for code in ("TRN2-INT-FP32", "TRN2-ENG-PSUM", "TRN2-BN"):
        CASES[code][0](k)
    found = check(k.program())
    assert found == check(k.program())
    assert [f.severity for f in found] == sorted(f.severity for f in found)


@pytest.mark.parametrize(
    ("version", "severity"), [("0.2", "warning"), ("0.3", "error"), ("0.7", "error"), ("beta", "error")]
)
def test_a_rule_is_as_serious_as_the_version_says(version: str, severity: str) -> None:
    k = Kernel(version)
    CASES["TRN2-DMA-PSUM"][0](k)
    assert [f.severity for f in check(k.program()) if f.code == "TRN2-DMA-PSUM"] == [severity]


def test_whole_partitions_that_nothing_wrote_may_be_reduced_beside_others_and_their_result_is_as_unwritten() -> None:
    k = Kernel()
    tile, sums = k.tensor((8, 4), line=11), k.tensor((8, 1), line=12)
    k.emit("memset", tile[0:6], value=0, line=13)
    k.emit("tensor_reduce", sums, tile, op="add", axes=[1], line=14)
    assert codes(k) == {"TRN2-INIT-READ"}
    k.emit("tensor_partition_reduce", k.sbuf(1, 1), sums[0:6], op="add", line=15)
    assert "TRN2-INIT-REDUCE" not in codes(k)
    k.emit("tensor_partition_reduce", k.sbuf(1, 1), sums, op="add", line=16)
    (finding,) = [f for f in check(k.program()) if f.code == "TRN2-INIT-REDUCE"]
    assert finding.line == 16
    assert "line 11" in finding.message


@pytest.mark.parametrize(("begun", "code"), [("", "TRN2-PSUM-UNSET"), ("memset", "TRN2-PSUM-MEMSET"), ("matmul", "")])
def test_a_loop_adds_in_its_first_turn_to_what_a_matmul_has_begun(begun: str, code: str) -> None:
    k = Kernel()
    a, dst = k.sbuf(4, 4), k.tensor((4, 4), memory="psum")
    if begun == "memset":
        k.emit("memset", dst, value=0, line=4)
    if begun == "matmul":
        matmul(k, a, a, dst)
    with k.loop("fori", k.register(), upper=3):
        k.emit("nc_matmul", dst, a, a, accumulate=True, line=6)
    assert codes(k) - {"TRN2-INIT-READ"} == ({code} if code else set())


@pytest.mark.parametrize(
    ("cores", "memory", "code"),
    [
        ([0, 1], "shared_hbm", ""),
        ([1, 0], "shared_hbm", "TRN2-LNC-MEET"),
        ([0], "shared_hbm", "TRN2-LNC-MEET"),
        ([0, 1], "sbuf", "TRN2-LNC-DATA"),
    ],
)
def test_a_barrier_names_both_cores_and_what_they_share(cores: list[int], memory: str, code: str) -> None:
    k = Kernel(cores=2)
    data = k.tensor((4, 4), memory=memory) if memory == "shared_hbm" else None
    for k.core in (0, 1):
        k.emit("core_barrier", data or k.sbuf(4, 4), cores=cores, line=6)
    assert codes(k) == ({code} if code else set())


@pytest.mark.parametrize(("begun", "code"), [("memset", "TRN2-PSUM-MEMSET"), ("matmul", ""), ("moving", "")])
def test_a_matmul_at_a_place_that_moves_adds_to_what_some_matmul_has_begun(begun: str, code: str) -> None:
    k = Kernel()
    a, dst, register = k.sbuf(4, 4), k.tensor((4, 16), memory="psum"), k.register()
    moved = k.shifted(dst[:, 0:4], 4, register=register)
    k.emit("memset", dst, value=0, line=4)
    if begun != "memset":
        matmul(k, a, a, dst[:, 0:4] if begun == "matmul" else moved)
    with k.loop("fori", register, upper=4):
        k.emit("nc_matmul", moved, a, a, accumulate=True, line=6)
    assert codes(k) == ({code} if code else set())


@pytest.mark.parametrize("where", ["part", "narrow", "view", "moving"])
def test_a_matmul_that_leaves_open_whether_it_adds_finds_nothing_of_others_under_any_of_its_places(where: str) -> None:
    k = Kernel()
    a, dst = k.sbuf(4, 4), k.tensor((4, 16), memory="psum")
    written = {
        "part": dst[:, 2:4],
        "narrow": dst.ap([(32, 4), (1, 1)], 5, "bfloat16"),
        "view": dst.ap([(16, 4), (1, 1)], 3, "int32"),
        "moving": k.shifted(dst[:, 0:1], 1, register=k.register()),
    }[where]
    k.emit("memset", written, value=7, line=4)
    k.emit("nc_matmul", dst[:, 8:12], a, a, accumulate=None, line=5)
    assert ("TRN2-PSUM-FILL" in codes(k)) == (where == "moving")
    k.emit("nc_matmul", dst[:, 0:4], a, a, accumulate=None, line=6)
    assert "TRN2-PSUM-FILL" in codes(k)


def test_an_output_is_declared_outside_of_the_loops_on_the_device() -> None:
    k = Kernel()
    with k.loop("fori", k.register(), upper=2):
        out = k.tensor((4, 4), memory="shared_hbm", line=7)
        k.emit("dma_copy", out, k.sbuf(4, 4), line=8)
    k.output(out)
    assert "TRN2-LOOP-TILE" in codes(k)


def test_unwritten_data_is_followed_through_copies_to_the_line_that_allocated_it() -> None:
    k = Kernel()
    tile = k.tensor((4, 8), line=11)
    k.emit("memset", tile[:, 0:4], value=0, line=12)
    copy, turned = k.tensor((4, 8), line=13), k.tensor((8, 4), line=14)
    k.emit("tensor_copy", copy, tile, line=15)
    k.emit("nc_transpose", turned, copy, engine="vector", line=16)
    k.emit("tensor_reduce", k.sbuf(8, 1)[0:4], turned[0:4], op="add", axes=[1], line=17)
    assert "TRN2-INIT-REDUCE" not in codes(k)
    k.emit("tensor_reduce", k.sbuf(4, 1)[0:4], copy, op="add", axes=[1], line=18)
    (finding,) = [f for f in check(k.program()) if f.code == "TRN2-INIT-REDUCE"]
    assert finding.line == 18
    assert "line 11" in finding.message


def test_capacity_names_the_lines_that_hold_the_space() -> None:
    k = Kernel()
    CASES["TRN2-SBUF-CAP"][0](k)
    (finding,) = [f for f in check(k.program()) if f.code == "TRN2-SBUF-CAP"]
    assert finding.severity == "warning"
    assert "212992 bytes" in finding.message
    assert "line 5 (212992)" in finding.message


def test_tiles_that_follow_each_other_share_their_room() -> None:
    k = Kernel()
    for _ in range(40):
        k.sbuf(128, 13000)
    assert check(k.program()) == []


def test_what_is_added_by_index_is_added_to_its_destination_from_on_chip() -> None:
    breaking = {
        "HBM": gathers_and_adds("HBM"),
        "another tile": gathers_and_adds("another tile"),
        "itself": gathers_and_adds("itself"),
        "the same": scatters_and_adds("the same"),
        "another": scatters_and_adds("another"),
    }
    found = {}
    for name, build in breaking.items():
        kernel = Kernel()
        build(kernel)
        found[name] = "TRN2-DMA-COMPUTE-IX" in codes(kernel)
    assert found == {"HBM": True, "another tile": True, "itself": False, "the same": False, "another": True}


@pytest.mark.parametrize(("name", "first"), [("scalar_tensor_tensor", "value0"), ("tensor_tensor_scan", "")])
def test_two_operators_in_a_row_beside_a_tile_are_no_bit_operators(name: str, first: str) -> None:
    given: dict[str, Any] = {first: 3} if first else {"initial_value": 0.0}
    whole = s(4, 4, dtype=INT32)
    k = Kernel()
    operands = (whole, whole, None, whole) if first else (whole, whole, whole)
    engine(name, *operands, op0="bitwise_and", op1="bitwise_or", **given)(k)
    assert "TRN2-BITVEC" in codes(k)


@pytest.mark.parametrize(("value", "refused"), [(1.5, True), (3.0, False), (3, False)])
def test_bit_operators_take_whole_numbers(value: float, refused: bool) -> None:
    k = Kernel()
    engine("tensor_scalar", s(4, 4, dtype=INT32), s(4, 4, dtype=INT32), op0="bitwise_and", value0=value)(k)
    assert codes(k) == ({"TRN2-BITVEC"} if refused else set())


@pytest.mark.parametrize(
    ("formats", "refused"),
    [
        (("int32", "uint8", "uint8"), True),
        (("uint8", "uint8", "uint16"), True),
        (("int32", "uint32", "int32"), False),
        (("uint8", "int8", "uint8"), False),
    ],
)
def test_bit_patterns_of_one_instruction_are_of_one_width(formats: tuple[str, ...], refused: bool) -> None:
    k = Kernel()
    engine("tensor_tensor", *[s(4, 4, dtype=dtype) for dtype in formats], op="bitwise_or")(k)
    assert codes(k) == ({"TRN2-BITVEC"} if refused else set())


@pytest.mark.parametrize(
    ("version", "op", "told"),
    [
        ("0.2", "add", True),
        ("0.3", "add", False),
        ("0.7", "maximum", False),
        ("beta1", "add", False),
        ("beta1", "maximum", True),
    ],
)
def test_gpsimd_is_told_of_where_it_computes_integers_in_float32(version: str, op: str, told: bool) -> None:
    k = Kernel(version)
    engine("tensor_tensor", *[s(4, 4, dtype=INT32)] * 3, op=op, engine="gpsimd")(k)
    assert ("TRN2-INT-FP32" in codes(k)) == told


@pytest.mark.parametrize(("name", "wrong"), [("tensor_copy", False), ("nc_n_gather", True)])
def test_tiles_at_one_address_are_read_in_place_by_what_goes_element_by_element(name: str, wrong: bool) -> None:
    b = ProgramBuilder()
    source, target = (b.tensor((4, 8), address=(0, 0)) for _ in range(2))
    places = b.tensor((4, 8), "uint32")
    b.emit("memset", source, value=1)
    b.emit("memset", places, value=1)
    b.emit(name, target, source, *((places,) if wrong else ()))
    b.emit("dma_copy", b.result((4, 8)), target)
    assert ("TRN2-ADDRESS" in {finding.code for finding in check(b.program())}) is wrong


def test_two_results_of_one_instruction_share_no_bytes() -> None:
    b = ProgramBuilder()
    data, squares, total = b.tensor((4, 8)), b.tensor((4, 8), address=(0, 0)), b.tensor((4, 1), address=(0, 28))
    b.emit("memset", data, value=1)
    b.emit("activation_reduce", squares, total, data, op="exp", reduce_op="add")
    b.emit("dma_copy", b.result((4, 8)), squares)
    assert "TRN2-ADDRESS" in {finding.code for finding in check(b.program())}


@pytest.mark.parametrize(("dtype", "unit"), [("uint8", "tensor"), ("int8", "tensor"), ("uint8", "vector")])
@pytest.mark.parametrize("apart", [False, True])
def test_the_tensor_engine_turns_integers_of_one_byte_as_it_does_float8(dtype: str, unit: str, apart: bool) -> None:
    k = Kernel()
    data, bank = k.sbuf(4, 8, dtype=dtype), k.psum(8, 4, 2, dtype=dtype)
    k.emit("nc_transpose", bank[:, :, 0:1] if apart else k.psum(8, 4, dtype=dtype), data, engine=unit, line=5)
    assert codes(k) == ({"TRN2-TRANSPOSE-FP8"} if unit == "tensor" and not apart else set())
