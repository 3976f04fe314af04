"""Each rule on kernel text, as a user writes it: one that breaks it, whose line is named, and one just inside."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from nki_anvil.sim import dtypes, install, trace
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.rules import TABLE, check

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl


def tile(*shape, dtype=nl.float32, buffer=nl.sbuf):
    result = nl.ndarray(shape, dtype, buffer=buffer)
    nisa.memset(result, 0)
    return result


@nki.jit
def kernel(x, b, i):
    out = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)
"""
STORE = "if nl.program_id(0) == 0: nisa.dma_copy(out, x[0:4, 0:4])"
ARGUMENTS = [
    np.zeros((128, 512), dtypes.numpy_dtype("float32")),
    np.zeros((128, 512), dtypes.numpy_dtype("bfloat16")),
    np.zeros((8, 1), dtypes.numpy_dtype("int32")),
]


class Found(NamedTuple):
    """A refusal or a warning, from tracing or from a rule."""

    code: str
    line: int
    message: str
    remedy: str


class Pair(NamedTuple):
    """Kernel bodies; ``# here`` marks the line that must be named."""

    bad: str
    good: str
    cores: int = 1
    refused: str = ""
    """The frontend's own code where a text with this fault never becomes a program."""
    whole: bool = False
    """Whether the bodies write and return the output themselves."""


def text_of(body: str, whole: bool) -> str:
    lines = body.strip("\n").split("\n")
    rest = [] if whole else [STORE, "return out"]
    return HEAD + "".join(f"    {line}\n" for line in (*lines, *rest))


def findings(body: str, pair: Pair) -> list[Found]:
    text = text_of(body, pair.whole)
    namespace: dict[str, Any] = {}
    with install():
        exec(compile(text, "kernel.py", "exec"), namespace)
        kernel = namespace["kernel"]
        try:
            program = trace(kernel if pair.cores == 1 else kernel[pair.cores], *ARGUMENTS)
        except TraceError as error:
            return [Found(error.code, error.line or 0, error.message, error.remedy)]
    return [Found(f.code, f.line, f.message, f.remedy) for f in check(program)]


def marked(body: str, pair: Pair) -> int:
    lines = text_of(body, pair.whole).split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# here"))


def one(call: str, other: str, **options: Any) -> Pair:
    """Two bodies of one marked line each."""
    return Pair(call + "  # here", other, **options)


RETURN = "nisa.dma_copy(out, t)\nreturn out"
HALVES = """
me = nl.program_id(0)
middle = nl.ndarray((2, 4), nl.float32, buffer=nl.shared_hbm)
t = nl.ndarray((1, 4), nl.float32, buffer=nl.sbuf)
nisa.dma_copy(t, x[nl.ds(me, 1), 0:4])
nisa.dma_copy(middle[nl.ds(me, 1)], t)
"""


def steered(source: str) -> str:
    """A loop that runs as often as a number says that this input gave, by way of another tile and of a register."""
    return f"""
given, whole = tile(1, 1), tile(1, 1, dtype=nl.int32)
nisa.dma_copy(given, {source})
nisa.tensor_copy(whole, given)
read, turns, t = nisa.register_alloc(), nisa.register_alloc(), tile(4, 4)
nisa.register_load(read, whole)
nisa.register_move(turns, read)
def turn(index):
    nisa.tensor_scalar(t, t, nl.multiply, 0.5)  # here
nl.fori_loop(0, turns, turn)
"""


REGISTERS = """
held = [nisa.register_alloc(number) for number in range({})]  # here
for register in held:
    nisa.register_store(tile(1, 1, dtype=nl.int32), register)
"""


BOUND = """
stop, other = nisa.register_alloc(2), nisa.register_alloc(2)
def turn(index):
    nisa.register_move({}, 1)  # here
nl.fori_loop(0, stop, turn)
"""


BODY = """
kept = []
def turn(index):
    held = tile(4, 4)
    kept.append(held)
    nisa.reciprocal(held, held)
nl.fori_loop(0, 2, turn)
"""


BOTH = """
t = tile(4, 4)
def turn(index):
    nisa.reciprocal(t, t){}
nl.fori_loop({}, turn)
"""


PAIRS: dict[str, Pair] = {
    "TRN2-PART-128": one("nl.ndarray((129, 4), nl.float32)", "nl.ndarray((128, 4), nl.float32)"),
    "TRN2-PART-START": one("t = tile(128, 4); nisa.reciprocal(t[32:65], t[0:33])",
                           "t = tile(128, 4); nisa.reciprocal(t[64:97], t[0:33])"),
    "TRN2-PART-STEP": one("t = tile(8, 6); v = t.ap([[12, 4], [1, 6]]); nisa.reciprocal(v, v)",
                          "t = tile(8, 6); v = t.ap([[6, 4], [1, 6]]); nisa.reciprocal(v, v)"),
    "TRN2-PART-PAIR": one("t = tile(64, 6); nisa.tensor_tensor(tile(32, 6), t[0:32], t[32:64], nl.add)",
                          "t = tile(64, 6); nisa.tensor_tensor(tile(32, 6), t[32:64], t[32:64], nl.add)"),
    "TRN2-PART-INPUT": one("t = tile(64, 6); o = (nl.multiply, 2.0, nl.add)\n"
                           "nisa.scalar_tensor_tensor(tile(32, 6), t[0:32], *o, t[32:64])",
                           "t = tile(64, 6); o = (nl.multiply, 2.0, nl.add)\n"
                           "nisa.scalar_tensor_tensor(tile(32, 6), t[32:64], *o, t[32:64])"),
    "TRN2-SBUF-TILE": one("nl.ndarray((128, 53247), nl.float32)", "nl.ndarray((128, 53246), nl.float32)"),
    "TRN2-SBUF-CAP": Pair("ts = [nl.ndarray((128, 13312), nl.float32) for _ in range(4)]  # here\n"
                          "for t in ts + ts: nisa.memset(t, 0)",
                          "ts = [nl.ndarray((128, 13311), nl.float32) for _ in range(4)]\n"
                          "for t in ts + ts: nisa.memset(t, 0)"),
    "TRN2-PSUM-TILE": one("nl.ndarray((128, 4097), nl.float32, buffer=nl.psum)",
                          "nl.ndarray((128, 4096), nl.float32, buffer=nl.psum)"),
    "TRN2-PSUM-CAP": Pair("ts = [nl.ndarray((128, 2049), nl.float32, buffer=nl.psum) for _ in range(2)]  # here\n"
                          "for t in ts + ts: nisa.memset(t, 0)",
                          "ts = [nl.ndarray((128, 2048), nl.float32, buffer=nl.psum) for _ in range(2)]\n"
                          "for t in ts + ts: nisa.memset(t, 0)"),
    "TRN2-PSUM-BANKS": Pair("ts = [nl.ndarray((128, 16), nl.float32, buffer=nl.psum) for _ in range(9)]  # here\n"
                            "for t in ts + ts: nisa.memset(t, 0)",
                            "ts = [nl.ndarray((128, 16), nl.float32, buffer=nl.psum) for _ in range(8)]\n"
                            "for t in ts + ts: nisa.memset(t, 0)"),
    "TRN2-ADDRESS": Pair(
        "one = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset(one, 1)\n"
        "two = nl.ndarray((4, 4), nl.float32, address=(0, 12)); nisa.memset(two, 2)  # here\n"
        "nisa.tensor_tensor(tile(4, 4), one, two, nl.add)",
        "one = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset(one, 1)\n"
        "two = nl.ndarray((4, 4), nl.float32, address=(0, 16)); nisa.memset(two, 2)\n"
        "nisa.tensor_tensor(tile(4, 4), one, two, nl.add)"),
    "TRN2-ADDRESS-PART": one("nl.ndarray((64, 4), nl.float32, address=(96, 0))",
                             "nl.ndarray((32, 4), nl.float32, address=(96, 0))"),
    "TRN2-ADDRESS-ALIGN": one("nl.ndarray((4, 4), nl.bfloat16, buffer=nl.psum, address=(0, 2))",
                              "nl.ndarray((4, 4), nl.bfloat16, buffer=nl.psum, address=(0, 4))"),
    "TRN2-MM-PLACE": one("nisa.nc_matmul(tile(4, 4), tile(4, 4), tile(4, 4), accumulate=False)",
                         "nisa.nc_matmul(tile(4, 4, buffer=nl.psum), tile(4, 4), tile(4, 4), accumulate=False)"),
    "TRN2-MM-SHAPE": one("nisa.nc_matmul(tile(128, 513, buffer=nl.psum), tile(128, 128), tile(128, 513),"
                         " accumulate=False)",
                         "nisa.nc_matmul(tile(128, 512, buffer=nl.psum), tile(128, 128), tile(128, 512),"
                         " accumulate=False)"),
    "TRN2-MM-DTYPE": one("nisa.nc_matmul(tile(4, 4, buffer=nl.psum), tile(4, 4), tile(4, 4, dtype=nl.bfloat16),"
                         " accumulate=False)",
                         "nisa.nc_matmul(tile(4, 4, buffer=nl.psum), tile(4, 4), tile(4, 4, dtype=nl.tfloat32),"
                         " accumulate=False)"),
    "TRN2-MM-DST": one("nisa.nc_matmul(tile(4, 4, buffer=nl.psum, dtype=nl.bfloat16), tile(4, 4), tile(4, 4),"
                       " accumulate=False)",
                       "nisa.nc_matmul(tile(4, 4, buffer=nl.psum), tile(4, 4), tile(4, 4), accumulate=False)"),
    "TRN2-MM-TILE": one("nisa.nc_matmul(tile(64, 4, buffer=nl.psum), tile(64, 64), tile(64, 4), accumulate=False,"
                        " tile_position=(32, 0), tile_size=(64, 64))",
                        "nisa.nc_matmul(tile(64, 4, buffer=nl.psum), tile(64, 64), tile(64, 4), accumulate=False,"
                        " tile_position=(64, 0), tile_size=(64, 64))"),
    "TRN2-MM-CORNER": one("nisa.nc_matmul(tile(128, 4, buffer=nl.psum)[64:128], tile(64, 64), tile(64, 4),"
                          " accumulate=False, tile_position=(64, 0), tile_size=(64, 64))",
                          "nisa.nc_matmul(tile(128, 4, buffer=nl.psum)[64:128], tile(64, 64), tile(64, 4),"
                          " accumulate=False, tile_position=(64, 64), tile_size=(64, 64))"),
    "TRN2-MM-WHOLE": one("nisa.nc_matmul(tile(128, 4, buffer=nl.psum)[64:128], tile(64, 64), tile(64, 4),"
                         " accumulate=False)",
                         "p = tile(128, 4, buffer=nl.psum)\n"
                         "nisa.nc_matmul(p[0:64], tile(64, 64), tile(64, 4), accumulate=False)\n"
                         "nisa.nc_matmul(p[64:128], tile(64, 64), tile(64, 4), accumulate=False, tile_position=(0, 64),"
                         " tile_size=(64, 64))"),
    "TRN2-FORMAT": one("nisa.nc_find_index8(tile(4, 8), tile(4, 16), tile(4, 8))",
                       "nisa.nc_find_index8(tile(4, 8, dtype=nl.uint16), tile(4, 16), tile(4, 8))"),
    "TRN2-INDEX": one("nisa.dma_copy(tile(4, 4), x.ap([[512, 4], [1, 4]], vector_offset=tile(4, 1), indirect_dim=0))",
                      "nisa.dma_copy(tile(4, 4), x.ap([[512, 4], [1, 4]], vector_offset=tile(4, 1, dtype=nl.int32),"
                      " indirect_dim=0))"),
    "TRN2-MM-PAIR": one("t = tile(128, 64); nisa.nc_matmul(tile(64, 64, buffer=nl.psum), t[0:64], t[64:128],"
                        " accumulate=False)",
                        "t = tile(128, 64); nisa.nc_matmul(tile(64, 64, buffer=nl.psum), t[64:128], tile(64, 64),"
                        " accumulate=False)"),
    "TRN2-MM-ROWS": one("a = tile(8, 8, dtype=nl.float8_e4m3); nisa.nc_matmul(tile(4, 4, buffer=nl.psum), a, a,"
                        " accumulate=False, perf_mode=nisa.matmul_perf_mode.double_row)",
                        "a = tile(8, 2, 4, dtype=nl.float8_e4m3); nisa.nc_matmul(tile(4, 4, buffer=nl.psum), a, a,"
                        " accumulate=False, perf_mode=nisa.matmul_perf_mode.double_row)", refused="NKI-SHAPE"),
    "TRN2-PSUM-BANK": one("nisa.nc_matmul(tile(4, 1024, buffer=nl.psum)[:, 508:516], tile(4, 4), tile(4, 8),"
                          " accumulate=False)",
                          "nisa.nc_matmul(tile(4, 1024, buffer=nl.psum)[:, 512:520], tile(4, 4), tile(4, 8),"
                          " accumulate=False)"),
    "TRN2-MM-MOVE": Pair("p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum)\n"
                         "nisa.nc_matmul(p, tile(4, 4), tile(4, 4), is_transpose=True)\n"
                         "nisa.nc_matmul(p, tile(4, 4), tile(4, 4), is_transpose=True)  # here",
                         "p = nl.ndarray((4, 8), nl.float32, buffer=nl.psum)\n"
                         "nisa.nc_matmul(p[:, 0:4], tile(4, 4), tile(4, 4), is_transpose=True)\n"
                         "nisa.nc_matmul(p[:, 4:8], tile(4, 4), tile(4, 4), is_transpose=True)\n"
                         "nisa.nc_matmul(p[:, 4:8], tile(4, 4), tile(4, 4), is_transpose=True, accumulate=False)"),
    "TRN2-TRANSPOSE-FP8": one("p = tile(8, 4, 2, dtype=nl.float8_e4m3, buffer=nl.psum)\n"
                              "nisa.nc_transpose(p[:, 0, :], tile(2, 8, dtype=nl.float8_e4m3),"
                              " engine=nisa.engine.tensor)",
                              "p = tile(8, 4, 2, dtype=nl.float8_e4m3, buffer=nl.psum)\n"
                              "nisa.nc_transpose(p[:, :, 0], tile(4, 8, dtype=nl.float8_e4m3),"
                              " engine=nisa.engine.tensor)"),
    "TRN2-TRANSPOSE": one("nisa.nc_transpose(tile(33, 4), tile(4, 33), engine=nisa.engine.vector)",
                          "nisa.nc_transpose(tile(32, 4), tile(4, 32), engine=nisa.engine.vector)"),
    "TRN2-PSUM-LOOP": Pair("p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum)\n"
                           "def body(i):\n"
                           "    nisa.nc_matmul(p, tile(4, 4), tile(4, 4))  # here\n"
                           "nl.fori_loop(0, 3, body)",
                           "def body(i):\n"
                           "    p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum)\n"
                           "    for k in range(2): nisa.nc_matmul(p, tile(4, 4), tile(4, 4))\n"
                           "nl.fori_loop(0, 3, body)"),
    "TRN2-PSUM-UNSET": Pair("p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum)\n"
                            "nisa.nc_matmul(p, tile(4, 4), tile(4, 4), accumulate=True)  # here",
                            "p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum)\n"
                            "for k in range(2): nisa.nc_matmul(p, tile(4, 4), tile(4, 4), accumulate=k > 0)"),
    "TRN2-PSUM-FILL": Pair("p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum); nisa.memset(p, 7.0)\n"
                           "nisa.nc_matmul(p, tile(4, 4), tile(4, 4))  # here",
                           "p = nl.ndarray((4, 4), nl.float32, buffer=nl.psum); nisa.memset(p, 0.0)\n"
                           "nisa.nc_matmul(p, tile(4, 4), tile(4, 4))\n"
                           "nisa.memset(p, 7.0); nisa.nc_matmul(p, tile(4, 4), tile(4, 4), accumulate=False)"),
    "TRN2-PSUM-MEMSET": one("nisa.nc_matmul(tile(4, 4, buffer=nl.psum), tile(4, 4), tile(4, 4), accumulate=True)",
                            "nisa.nc_matmul(tile(4, 4, buffer=nl.psum), tile(4, 4), tile(4, 4), accumulate=False)"),
    "TRN2-ENG-PSUM": one("nisa.tensor_copy(tile(4, 4), tile(4, 4, buffer=nl.psum), engine=nisa.engine.gpsimd)",
                         "nisa.tensor_copy(tile(4, 4), tile(4, 4, buffer=nl.psum), engine=nisa.engine.scalar)"),
    "TRN2-ENG-HBM": one("nisa.tensor_copy(tile(4, 4), x[0:4, 0:4])", "nisa.dma_copy(tile(4, 4), x[0:4, 0:4])"),
    "TRN2-ENG-BOTH": one("p = tile(4, 4, buffer=nl.psum); nisa.tensor_tensor(tile(4, 4), p, p, nl.add)",
                         "p = tile(4, 4, buffer=nl.psum); nisa.tensor_tensor(tile(4, 4), p, tile(4, 4), nl.add)"),
    "TRN2-ENG-CHOICE": one("nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.maximum, 0.0, engine=nisa.engine.scalar)",
                           "nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.multiply, 2.0, engine=nisa.engine.scalar)"),
    "TRN2-INT-FP32": one("t = tile(4, 4, dtype=nl.int32); nisa.tensor_tensor(t, t, t, nl.add,"
                         " engine=nisa.engine.vector)",
                         "t = tile(4, 4, dtype=nl.int32); nisa.tensor_tensor(t, t, t, nl.add)"),
    "TRN2-BITVEC": one("nisa.tensor_tensor(tile(4, 4), tile(4, 4), tile(4, 4), nl.bitwise_and)",
                       "t = tile(4, 4, dtype=nl.int32); nisa.tensor_tensor(t, t, t, nl.bitwise_and)"),
    "TRN2-ALU": one("nisa.tensor_tensor(tile(4, 4), tile(4, 4), tile(4, 4), nl.divide)",
                    "nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.power, -1.0)"),
    "TRN2-ALU-LATER": one("nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.square, None)",
                          "nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.abs, None, op1=nl.maximum, operand1=0.0)"),
    "TRN2-ALU-BINARY": one("nisa.tensor_tensor_scan(tile(4, 4), tile(4, 4), tile(4, 4), 0.0, nl.abs, nl.add)",
                           "nisa.tensor_tensor_scan(tile(4, 4), tile(4, 4), tile(4, 4), 0.0, nl.maximum, nl.add)"),
    "TRN2-DMA-PSUM": one("nisa.dma_copy(tile(4, 4), tile(4, 4, buffer=nl.psum))",
                         "nisa.dma_copy(tile(4, 4), tile(4, 4))"),
    "TRN2-DMA-PSUM-DST": one("nisa.dma_copy(tile(4, 4, buffer=nl.psum), x[0:4, 0:4])",
                             "nisa.dma_copy(tile(4, 4), x[0:4, 0:4])"),
    "TRN2-DMA-COUNT": one("nisa.dma_copy(tile(4, 4), x[0:4, 0:5])", "nisa.dma_copy(tile(4, 4), x[0:2, 0:8])",
                          refused="NKI-SHAPE"),
    "TRN2-DMA-TRANSPOSE-IX": one("i = tile(16, 1, dtype=nl.uint32); t = tile(4, 16)\n"
                                 "nisa.dma_transpose(t, x.ap([[512, 16], [1, 4]], vector_offset=i, indirect_dim=0))",
                                 "i = tile(16, 1, dtype=nl.uint32); t = tile(4, 16, dtype=nl.bfloat16)\n"
                                 "h = nl.ndarray((128, 512), nl.bfloat16, buffer=nl.hbm); nisa.dma_copy(h, x)\n"
                                 "nisa.dma_transpose(t, h.ap([[512, 16], [1, 4]], vector_offset=i, indirect_dim=0))"),
    "TRN2-TOPK": one("t = tile(16, 4, dtype=nl.bfloat16)\nnisa.topk(t, tile(16, 4, dtype=nl.uint32), t, n=7)",
                     "t = tile(16, 4, dtype=nl.bfloat16)\nnisa.topk(t, tile(16, 4, dtype=nl.uint32), t, n=8)"),
    "TRN2-INT32": one("nisa.iota(tile(4, 4, dtype=nl.int32), [[1, 4]], offset=2**31)",
                      "nisa.iota(tile(4, 4, dtype=nl.int32), [[1, 4]], offset=2**31 - 1)"),
    "TRN2-REDUCE-OP": one("nisa.tensor_partition_reduce(tile(1, 4), nl.minimum, tile(4, 4))",
                          "nisa.tensor_partition_reduce(tile(1, 4), nl.maximum, tile(4, 4))"),
    "TRN2-REDUCE-CMD": one("t = tile(4, 4); nisa.tensor_scalar_reduce(t, t, nl.add, 1.0, nl.add, tile(4, 1),"
                           " reduce_cmd=nisa.reduce_cmd.load_reduce)",
                           "t = tile(4, 4); nisa.tensor_scalar_reduce(t, t, nl.add, 1.0, nl.add, tile(4, 1),"
                           " reduce_cmd=nisa.reduce_cmd.load_reduce, reduce_init=2.0)"),
    "TRN2-DMA-STATIC": one("i = tile(4, 1, dtype=nl.int32)\n"
                           "rows = x.ap([[512, 4], [1, 4]], vector_offset=i, indirect_dim=0)\n"
                           "nisa.dma_copy(tile(4, 4), rows, dge_mode=nisa.dge_mode.none)",
                           "nisa.dma_copy(tile(4, 4), x[0:4, 0:4], dge_mode=nisa.dge_mode.none)"),
    "TRN2-DMA-SKIP": one("nisa.dma_copy(tile(4, 4), x[0:4, 0:4], oob_mode=nisa.oob_mode.skip)",
                         "i = tile(4, 1, dtype=nl.int32)\n"
                         "rows = x.ap([[512, 4], [1, 4]], vector_offset=i, indirect_dim=0)\n"
                         "nisa.dma_copy(tile(4, 4), rows, oob_mode=nisa.oob_mode.skip)"),
    "TRN2-DMA-HWDGE": one("nisa.dma_copy(tile(4, 4, dtype=nl.bfloat16), x[0:4, 0:4], dge_mode=nisa.dge_mode.hwdge)",
                          "nisa.dma_copy(tile(4, 4), x[0:4, 0:4], dge_mode=nisa.dge_mode.hwdge)"),
    "TRN2-DMA-GATHER": one("nisa.reciprocal(tile(8, 4), x.ap([[512, 8], [1, 4]], vector_offset=tile(8, 1,"
                           " dtype=nl.int32)))",
                           "nisa.dma_copy(tile(8, 4), x.ap([[512, 8], [1, 4]], vector_offset=tile(8, 1,"
                           " dtype=nl.int32)))"),
    "TRN2-DMA-TRANSPOSE": one("nisa.dma_transpose(tile(4, 8, dtype=nl.int8), tile(8, 4, dtype=nl.int8))",
                              "nisa.dma_transpose(tile(4, 8), tile(8, 4))"),
    "TRN2-DMA-TRANSPOSE-HW": one("nisa.dma_transpose(tile(4, 8, dtype=nl.bfloat16), b[0:8, 0:4],"
                                 " dge_mode=nisa.dge_mode.hwdge)",
                                 "nisa.dma_transpose(tile(4, 16, dtype=nl.bfloat16), b[0:16, 0:4],"
                                 " dge_mode=nisa.dge_mode.hwdge)"),
    "TRN2-DMA-COMPUTE": one("nisa.dma_compute(tile(4, 4), [tile(4, 4), tile(4, 4)], nl.multiply)",
                            "nisa.dma_compute(tile(4, 4), [tile(4, 4), tile(4, 4)], nl.add)"),
    "TRN2-DMA-COMPUTE-IX": one("t = tile(4, 4); i = tile(4, 1, dtype=nl.int32)\n"
                               "r = x.ap([[512, 4], [1, 4]], vector_offset=i)\n"
                               "nisa.dma_compute(t, [tile(4, 4), r], nl.add)",
                               "t = tile(4, 4); i = tile(4, 1, dtype=nl.int32)\n"
                               "r = x.ap([[512, 4], [1, 4]], vector_offset=i)\n"
                               "nisa.dma_compute(t, [t, r], nl.add)"),
    "TRN2-DMA-INT": one("nisa.dma_copy(tile(8, 1, dtype=nl.uint32), i)",
                         "nisa.dma_copy(tile(8, 1, dtype=nl.int32), i)"),
    "TRN2-SHAPE": one("nisa.tensor_tensor(tile(4, 4), tile(4, 4), tile(4, 5), nl.add)",
                      "nisa.tensor_tensor(tile(4, 4), tile(4, 4), tile(4, 2, 2), nl.add)", refused="NKI-SHAPE"),
    "TRN2-COLUMN": one("nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.add, tile(4, 2))",
                       "nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.add, tile(4, 1))", refused="NKI-SHAPE"),
    "TRN2-COLUMN-FP32": one("nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.add, tile(4, 1, dtype=nl.bfloat16))",
                            "nisa.tensor_scalar(tile(4, 4), tile(4, 4), nl.add, tile(4, 1))"),
    "TRN2-ACT": one("nisa.activation_reduce(tile(4, 4), nl.exp, tile(4, 4), nl.maximum, tile(4, 1))",
                    "nisa.activation_reduce(tile(4, 4), nl.exp, tile(4, 4), nl.add, tile(4, 1))"),
    "TRN2-ACT-IDLE": one("nisa.activation(tile(4, 4), nl.exp, tile(4, 4), reduce_op=nl.add, reduce_res=tile(4, 1))",
                         "nisa.activation(tile(4, 4), nl.exp, tile(4, 4), reduce_op=nl.add, reduce_res=tile(4, 1),"
                         " reduce_cmd=nisa.reduce_cmd.reset_reduce)"),
    "TRN2-PREDICATE": one("nisa.tensor_copy_predicated(tile(4, 4), tile(4, 4), tile(4, 4))",
                          "nisa.tensor_copy_predicated(tile(4, 4), tile(4, 4), tile(4, 4, dtype=nl.uint8))"),
    "TRN2-SELECT": one("nisa.range_select(tile(4, 4), tile(4, 4), nl.less, nl.less, tile(4, 1), tile(4, 1),"
                       " on_false_value=0.0)",
                       "nisa.range_select(tile(4, 4), tile(4, 4), nl.less, nl.less, tile(4, 1), tile(4, 1))"),
    "TRN2-SCALAR-REDUCE": one("t = tile(4, 4); nisa.tensor_scalar_reduce(t, t, nl.subtract, 1.0, nl.add, tile(4, 1),"
                              " reverse0=True)",
                              "t = tile(4, 4); nisa.tensor_scalar_reduce(t, t, nl.subtract, 1.0, nl.add, tile(4, 1))"),
    "TRN2-MEMSET": one("nisa.memset(nl.ndarray((4, 4), nl.int32), 1.5)",
                        "nisa.memset(nl.ndarray((4, 4), nl.int32), 1)"),
    "TRN2-REDUCE": one("nisa.tensor_reduce(tile(4, 5), nl.add, tile(4, 3, 5), axis=1)",
                       "nisa.tensor_reduce(tile(4, 3), nl.add, tile(4, 3, 5), axis=2)", refused="NKI-AXIS"),
    "TRN2-REGISTER": one("nisa.register_load(nisa.register_alloc(), tile(1, 1, dtype=nl.int32, buffer=nl.psum))",
                         "nisa.register_load(nisa.register_alloc(), tile(1, 1, dtype=nl.int32))"),
    "TRN2-REGISTERS": Pair(REGISTERS.format(65), REGISTERS.format(64)),
    "TRN2-LOOP-BOUND": Pair(BOUND.format("stop"), BOUND.format("other")),
    "TRN2-LOOP-TILE": Pair(BODY + "nisa.reciprocal(kept[0], kept[0])  # here", BODY),
    "TRN2-LNC-LOOP": Pair(BOTH.format("  # here", "nl.program_id(0), 2"),
                          BOTH.format("", "nl.program_id(0), 2 + nl.program_id(0)"), cores=2),
    "TRN2-AP-SIZE": one("nisa.memset(nl.ndarray((4, 70000), nl.int8)[:, 0:65537], 0)",
                        "nisa.memset(nl.ndarray((4, 70000), nl.int8)[:, 0:65536], 0)"),
    "TRN2-AP-PATTERN": one("t = tile(4, 40000); v = t.ap([[40000, 4], [32768, 2]]); nisa.memset(v, 0)",
                           "t = tile(4, 40000); v = t.ap([[40000, 4], [32767, 2]]); nisa.memset(v, 0)"),
    "TRN2-BN": one("nisa.bn_stats(tile(4, 6), tile(4, 513))", "nisa.bn_stats(tile(4, 6), tile(4, 512))"),
    "TRN2-EIGHT": one("nisa.max8(tile(4, 8), tile(4, 7))", "nisa.max8(tile(4, 8), tile(4, 8))"),
    "TRN2-AFFINE": one("nisa.iota(tile(4, 6, dtype=nl.int32, buffer=nl.psum), [[1, 6]])",
                       "nisa.iota(tile(4, 6, dtype=nl.int32), [[3, 2], [1, 3]])"),
    "TRN2-GATHER": one("nisa.nc_n_gather(tile(4, 6), tile(4, 6), tile(4, 6, dtype=nl.int32))",
                       "nisa.nc_n_gather(tile(4, 6), tile(4, 6), tile(4, 6, dtype=nl.uint32))"),
    "TRN2-SHUFFLE": one("nisa.nc_stream_shuffle(tile(32, 4), tile(32, 4), [*range(1, 33)])",
                        "nisa.nc_stream_shuffle(tile(32, 4), tile(32, 4), [*range(1, 32), 255])"),
    "TRN2-ORDER-BOTH": one("t = tile(4, 9); nisa.activation_reduce(t, nl.exp, tile(4, 9), nl.add, t[:, 8:9])",
                           "t = tile(4, 9); nisa.activation_reduce(t[:, 0:8], nl.exp, tile(4, 8), nl.add, t[:, 8:9])"),
    "TRN2-ORDER-READ": one("t = tile(4, 9); nisa.tensor_copy(t[:, 1:9], t[:, 0:8])",
                           "t = tile(4, 9); nisa.tensor_copy(t[:, 0:8], t[:, 1:9])"),
    "TRN2-ORDER-WRITE": one("nisa.dma_copy(tile(4, 1).broadcast(1, 4), x[0:4, 0:4])",
                            "nisa.tensor_copy(tile(4, 1).broadcast(1, 4), tile(4, 4))"),
    "TRN2-OUT-SHARED": Pair("t = nl.ndarray((4, 4), nl.float32, buffer=nl.private_hbm)  # here\n"
                            "nisa.dma_copy(t, x[0:4, 0:4])\nreturn t",
                            "t = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)\n"
                            "nisa.dma_copy(t, x[0:4, 0:4])\nreturn t", whole=True),
    "TRN2-OUT-VIEW": Pair("t = nl.ndarray((4, 8), nl.float32, buffer=nl.shared_hbm)  # here\n"
                          "nisa.dma_copy(t, x[0:4, 0:8])\nreturn t.permute((1, 0))",
                          "t = nl.ndarray((4, 8), nl.float32, buffer=nl.shared_hbm)\n"
                          "nisa.dma_copy(t, x[0:4, 0:8])\nreturn t.reshape((8, 4))", whole=True),
    "TRN2-OUT-SIZE": Pair("t = nl.ndarray((32768, 32768), nl.float32, buffer=nl.shared_hbm)  # here\n"
                          "nisa.dma_copy(t, x.ap([[0, 32768], [0, 32768]]))\nreturn t",
                          "t = nl.ndarray((32768, 32767), nl.float32, buffer=nl.shared_hbm)\n"
                          "nisa.dma_copy(t, x.ap([[0, 32768], [0, 32767]]))\nreturn t", whole=True),
    "TRN2-INIT-OUTPUT": Pair(f"t = nl.ndarray((4, 4), nl.float32)  # here\nnisa.dma_copy(t[:, 0:3], x[0:4, 0:3])\n"
                             f"{RETURN}",
                             f"t = nl.ndarray((4, 4), nl.float32)\nnisa.dma_copy(t[:, 0:4], x[0:4, 0:4])\n{RETURN}",
                             whole=True),
    "TRN2-INIT-MATMUL": Pair("t = nl.ndarray((4, 8), nl.float32); nisa.memset(t[:, 0:7], 0)\n"
                             "nisa.nc_matmul(tile(8, 4, buffer=nl.psum), t, tile(4, 4), accumulate=False)  # here",
                             "t = nl.ndarray((4, 8), nl.float32); nisa.memset(t[:, 0:7], 0)\n"
                             "nisa.nc_matmul(tile(7, 4, buffer=nl.psum), t[:, 0:7], tile(4, 4), accumulate=False)"),
    "TRN2-INIT-REDUCE": Pair("t = nl.ndarray((4, 8), nl.float32); nisa.memset(t[:, 0:7], 0)\n"
                             "nisa.tensor_reduce(tile(4, 1), nl.add, t, axis=1)  # here",
                             "t = nl.ndarray((4, 8), nl.float32); nisa.memset(t[:, 0:7], 0)\n"
                             "nisa.tensor_reduce(tile(4, 1), nl.add, t[:, 0:7], axis=1)"),
    "TRN2-INIT-REGISTER": one("nisa.register_load(nisa.register_alloc(), nl.ndarray((1, 1), nl.int32))",
                              "nisa.register_load(nisa.register_alloc(), tile(1, 1, dtype=nl.int32))"),
    "TRN2-INIT-READ": Pair("t = nl.ndarray((4, 8), nl.float32); nisa.memset(t[:, 0:7], 0)\n"
                           "nisa.reciprocal(tile(4, 8), t)  # here",
                           "t = nl.ndarray((4, 8), nl.float32); nisa.memset(t[:, 0:7], 0)\n"
                           "nisa.reciprocal(tile(4, 7), t[:, 0:7])"),
    "TRN2-RACE": Pair(HALVES + "nisa.dma_copy(t, middle[nl.ds(1 - me, 1)])  # here",
                      HALVES + "nisa.core_barrier(middle, cores=(0, 1))\nnisa.dma_copy(t, middle[nl.ds(1 - me, 1)])",
                      cores=2),
    "TRN2-RACE-WRITE": Pair(HALVES + "nisa.core_barrier(middle, cores=(0, 1))\nnisa.dma_copy(middle[1:2], t)  # here",
                            HALVES + "nisa.core_barrier(middle, cores=(0, 1))\nnisa.dma_copy(middle[nl.ds(me, 1)], t)",
                            cores=2),
    "TRN2-LNC-MEET": Pair(HALVES + "if me == 0: nisa.core_barrier(middle, cores=(0, 1))  # here",
                          HALVES + "nisa.core_barrier(middle, cores=(0, 1))", cores=2),
    "TRN2-LNC-DATA": Pair(HALVES + "nisa.core_barrier(t, cores=(0, 1))  # here",
                          HALVES + "nisa.core_barrier(middle, cores=(0, 1))", cores=2),
    "TRN2-LNC-SBUF": Pair(HALVES + "nisa.sendrecv(middle[0:1], t, 1 - me, 1 - me, 0)  # here",
                          HALVES + "nisa.sendrecv(tile(1, 4), t, 1 - me, 1 - me, 0)", cores=2),
    "TRN2-PRNG": one("nisa.set_rng_seed(nl.ndarray((4, 1), nl.uint32))",
                     "nisa.set_rng_seed(tile(1, 1, dtype=nl.uint32))"),
    "DATA-LOT": one("nisa.rng(nl.ndarray((4, 4), nl.uint32))", "nisa.iota(nl.ndarray((4, 4), nl.int32), [[1, 4]])"),
    "TRN2-UNTOLD": one("nisa.activation(tile(4, 4), nl.prelu, tile(4, 4))",
                       "nisa.activation(tile(4, 4), nl.relu, tile(4, 4))"),
    "DATA-LOOP": Pair(steered("b[0:1, 0:1]"), steered("i[0:1]").replace("  # here", "")),
}  # fmt: skip


def test_every_rule_has_a_kernel_on_either_side_of_its_limit() -> None:
    assert set(PAIRS) == {rule.code for rule in TABLE}


@pytest.mark.parametrize("code", PAIRS)
def test_a_kernel_that_breaks_a_rule_is_told_the_line_the_numbers_and_the_remedy(code: str) -> None:
    pair = PAIRS[code]
    found = [f for f in findings(pair.bad, pair) if f.code == (pair.refused or code)]
    assert found, findings(pair.bad, pair)
    (line,) = {f.line for f in found}
    assert line == marked(pair.bad, pair)
    assert all(f.remedy.endswith(".") and len(f.message) > 10 for f in found)


@pytest.mark.parametrize("code", PAIRS)
def test_a_kernel_just_inside_a_rules_limit_has_no_finding(code: str) -> None:
    assert findings(PAIRS[code].good, PAIRS[code]) == []


LIMITS = sorted(code for code in PAIRS if re.search("PART|CAP|TILE|BANK|SHAPE|AP-|BN|EIGHT|ADDRESS", code))


@pytest.mark.parametrize("code", LIMITS)
def test_a_broken_limit_is_told_in_numbers(code: str) -> None:
    pair = PAIRS[code]
    assert all(re.search(r"\d", f.message) for f in findings(pair.bad, pair) if f.code == code)


def test_both_lines_of_a_race_are_named() -> None:
    pair = PAIRS["TRN2-RACE"]
    (found,) = [f for f in findings(pair.bad, pair) if f.code == "TRN2-RACE"]
    assert f"line {marked(pair.bad, pair) - 1}" in found.message


def test_both_lines_of_an_overlap_of_addresses_are_named() -> None:
    pair = PAIRS["TRN2-ADDRESS"]
    (found,) = [f for f in findings(pair.bad, pair) if f.code == "TRN2-ADDRESS"]
    here = marked(pair.bad, pair)
    assert f"line {here - 1}" in found.message
    assert f"line {here + 1}" in found.message


def test_an_exchange_of_tiles_orders_nothing_in_shared_memory() -> None:
    taken = "nisa.sendrecv(t, tile(1, 4), 1 - me, 1 - me, 0)\nnisa.dma_copy(t, middle[nl.ds(1 - me, 1)])"
    assert [one.code for one in findings(HALVES + taken, PAIRS["TRN2-RACE"])] == ["TRN2-RACE"]


@pytest.mark.parametrize("moves", ["register_load(r, f)", "register_store(f, r)"])
def test_a_register_takes_the_bits_of_an_integer(moves: str) -> None:
    body = "f = tile(1, 1, dtype=nl.{})\nr = nisa.register_alloc(1)\nnisa." + moves
    for dtype, refused in (("int32", []), ("float32", ["TRN2-REGISTER"])):
        assert [one.code for one in findings(body.format(dtype), PAIRS["TRN2-REGISTER"])] == refused


def test_dma_compute_adds_what_lies_at_a_place_that_is_known_before() -> None:
    place = "x.ap([[512, 4], [1, 4]], scalar_offset=nisa.register_alloc(2), indirect_dim=0)"
    for source, code in ((place, {"TRN2-DMA-COMPUTE"}), ("x[0:4, 0:4]", set[str]())):
        body = f"nisa.dma_compute(tile(4, 4), [{source}, x[4:8, 0:4]], nl.add)"
        assert {found.code for found in findings(body, Pair("", ""))} == code


@pytest.mark.parametrize(("width", "refused"), [(256, []), (257, ["TRN2-LNC-SBUF"])])
def test_gpsimds_own_transfers_exchange_small_tiles(width: int, refused: list[str]) -> None:
    body = f"""
me = nl.program_id(0)
t = tile(4, {width}, dtype=nl.bfloat16)
nisa.sendrecv(t, tile(4, {width}, dtype=nl.bfloat16), 1 - me, 1 - me, 0, dma_engine=nisa.dma_engine.gpsimd_dma)
"""
    assert [one.code for one in findings(body, PAIRS["TRN2-RACE"])] == refused


ROUTE = "0, dma_engine=nisa.dma_engine.gpsimd_dma"


@pytest.mark.parametrize(
    ("pipe", "refused"),
    [("0", []), (ROUTE, []), ("me", ["TRN2-LNC-MEET"]), (ROUTE + " if me else nisa.dma_engine.dma", ["TRN2-LNC-MEET"])],
)
def test_an_exchange_goes_by_one_pipe_and_one_engine_on_both_cores(pipe: str, refused: list[str]) -> None:
    body = f"{HALVES}nisa.sendrecv(t, tile(1, 4), 1 - me, 1 - me, {pipe})"
    assert [one.code for one in findings(body, PAIRS["TRN2-RACE"])] == refused


@pytest.mark.parametrize(("to", "refused"), [("1 - me", []), ("me", ["TRN2-LNC-MEET"])])
def test_an_exchange_is_with_the_other_core(to: str, refused: list[str]) -> None:
    found = findings(f"{HALVES}nisa.sendrecv(t, tile(1, 4), {to}, {to}, 0)", PAIRS["TRN2-RACE"])
    assert [one.code for one in found] == refused


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        ("rand_set_state(tile(4, 6, dtype=nl.uint32))", False),
        ("rand_get_state(tile(4, 6, dtype=nl.uint32))", False),
        ("rand_set_state(tile(4, 5, dtype=nl.uint32))", True),
        ("rand_set_state(tile(4, 6, dtype=nl.int32))", True),
        ("rand_get_state(tile(4, 24, dtype=nl.uint32))", True),
        ("rand_set_state(tile(4, 24, dtype=nl.uint32), engine=nisa.engine.vector)", True),
        ("set_rng_seed(tile(1, 1, dtype=nl.float32))", False),
        ("set_rng_seed(tile(1, 1, dtype=nl.uint16))", True),
    ],
)
def test_a_generators_state_is_of_its_engine(call: str, refused: bool) -> None:
    found = [one.code for one in findings(f"nisa.{call}", PAIRS["TRN2-PRNG"])]
    assert ("TRN2-PRNG" in found) == refused


@pytest.mark.parametrize("apart", [False, True])
def test_each_core_of_gpsimd_has_its_own_partitions(apart: bool) -> None:
    body = f"""
wide, found = tile(128, 8), nl.ndarray((128, 9), nl.int32)
index = tile(128, 1, dtype=nl.uint16)
first, other = slice(0, 32), slice({64 if apart else 0}, {96 if apart else 32})
nisa.nonzero_with_count(found[other, :], wide[first, :])
nisa.local_gather(tile(32, 16), wide[first, :], index[other, :])
"""
    found = [one.code for one in findings(body, PAIRS["TRN2-GATHER"])]
    assert found.count("TRN2-GATHER") == (2 if apart else 0)


@pytest.mark.parametrize(
    ("where", "refused"),
    [("t[:, 0:1]", False), ("t[:, 0:2]", True), ("t.ap([[1, 1], [1, 4]])", True), ("far", True)],
)
def test_indices_are_a_column_of_sbuf(where: str, refused: bool) -> None:
    body = f"""
t, far = tile(4, 4, dtype=nl.int32), nl.ndarray((4, 1), nl.int32, buffer=nl.hbm)
nisa.dma_copy(tile(4, 4), x.ap([[512, 4], [1, 4]], vector_offset={where}, indirect_dim=0))
"""
    found = [one.code for one in findings(body, PAIRS["TRN2-INDEX"]) if one.code == "TRN2-INDEX"]
    assert bool(found) == refused


GATHER = "nisa.dma_copy(tile(4, 4), x.ap([[512, 4], [1, 4]], vector_offset=tile(4, 1, dtype=nl.{})))"
LOAD = "nisa.register_load(nisa.register_alloc(), tile(1, 1, dtype=nl.{}))"
COPY = "nisa.tensor_copy(tile(4, 4, dtype=nl.{0}), tile(4, 4, dtype=nl.{0}), engine=nisa.engine.{1})"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (GATHER.format("int16"), "an index of int16 below zero"),
        (GATHER.format("uint16"), ""),
        (LOAD.format("int8"), "a number of int8 below zero"),
        (LOAD.format("int32"), ""),
        (COPY.format("int32", "scalar"), "int32 on the Scalar Engine keeps all bits"),
        (COPY.format("int32", "vector"), ""),
        (COPY.format("float32", "scalar"), ""),
    ],
)
def test_what_no_page_tells_of_a_form_is_said_of_its_line(body: str, told: str) -> None:
    found = [one.message for one in findings(body, PAIRS["TRN2-UNTOLD"]) if one.code == "TRN2-UNTOLD"]
    assert len(found) == bool(told)
    assert all(told in message for message in found)


@pytest.mark.parametrize(("engine", "refused"), [("gpsimd", []), ("scalar", ["TRN2-LNC-MEET"])])
def test_both_cores_wait_at_a_barrier_on_one_engine(engine: str, refused: list[str]) -> None:
    where = f"engine=nisa.engine.{engine} if me else nisa.engine.gpsimd"
    found = findings(f"{HALVES}nisa.core_barrier(middle, cores=(0, 1), {where})", PAIRS["TRN2-RACE"])
    assert [one.code for one in found] == refused


@pytest.mark.parametrize(("first", "refused"), [(1, ["TRN2-ORDER-READ"]), (2048, [])])
def test_a_transfer_of_millions_of_elements_overwrites_nothing_that_it_has_yet_to_read(
    first: int, refused: list[str]
) -> None:
    big = "big = nl.ndarray((2100, 4096), nl.float32, buffer=nl.hbm)"
    body = f"{big}\nnisa.dma_copy(big[:, {first}:{first} + 2048], big[:, 0:2048])"
    assert [one.code for one in findings(body, PAIRS["TRN2-ORDER-READ"]) if "ORDER" in one.code] == refused


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("t = tile(4, 1); nisa.dma_copy(t[1:4, :], t[0:3, :])", "TRN2-ORDER-READ"),
        ("t = tile(4, 1).broadcast(1, 4); nisa.tensor_tensor(t, t, tile(4, 4), nl.add)", "TRN2-ORDER-READ"),
        ("t = tile(4, 1, buffer=nl.psum).ap([[1, 4], [0, 4]]); nisa.nc_matmul(t, tile(4, 4), tile(4, 4))",
         "TRN2-ORDER-WRITE"),
        ("i, t = tile(4, 1, dtype=nl.int32), nl.ndarray((4, 1), nl.float32, buffer=nl.hbm)\n"
         "nisa.dma_copy(t.ap([[1, 4], [0, 4]], vector_offset=i, indirect_dim=0), tile(4, 4))", "TRN2-ORDER-WRITE"),
        ("i, t = tile(4, 1, dtype=nl.int32), nl.ndarray((4, 4), nl.float32, buffer=nl.hbm)\n"
         "nisa.dma_copy(t.ap([[4, 4], [1, 4]], vector_offset=i, indirect_dim=0), tile(4, 4))", ""),
        ("t = tile(4, 1); nisa.tensor_scalar(t, t, nl.multiply, 2.0)", ""),
    ],
)  # fmt: skip
def test_what_comes_to_one_place_twice_or_moves_a_column_in_place_has_no_order_to_rely_on(body: str, code: str) -> None:
    assert {one.code for one in findings(body, PAIRS["TRN2-ORDER-READ"]) if "ORDER" in one.code} == {code} - {""}


def test_an_exchange_receives_every_element_at_a_place_of_its_own() -> None:
    body = f"{HALVES}nisa.sendrecv(tile(1, 4), t.ap([[1, 1], [0, 4]]), 1 - me, 1 - me, 0)"
    found = findings(body, PAIRS["TRN2-RACE"])
    assert "TRN2-ORDER-WRITE" in {one.code for one in found}


@pytest.mark.parametrize(("written", "waits", "found"), [(1, 1, False), (1, 0, True), (0, 1, True)])
def test_what_cores_share_is_written_before_it_is_read_by_the_core_that_reads_it_or_before_they_met(
    written: int, waits: int, found: bool
) -> None:
    body = f"""
me = nl.program_id(0)
box = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)
t = tile(4, 4)
nisa.memset(t, 1.0)
if me == 1 and {written}: nisa.dma_copy(box, t)
if {waits}: nisa.core_barrier(box, cores=(0, 1))
if me == 0: nisa.dma_copy(t, box)
if me == 0: nisa.tensor_reduce(tile(4, 1), nl.add, t, axis=1)
"""
    codes = [one.code for one in findings(body, PAIRS["TRN2-RACE"])]
    assert ("TRN2-INIT-REDUCE" in codes) == found


@pytest.mark.parametrize(("data", "races"), [("order", []), ("middle", ["TRN2-RACE"])])
def test_rows_taken_by_an_index_tile_in_shared_memory_read_it(data: str, races: list[str]) -> None:
    body = f"""
order = nl.ndarray((2, 1), nl.int32, buffer=nl.shared_hbm)
if me == 0: nisa.dma_copy(order, tile(2, 1, dtype=nl.int32))
nisa.core_barrier({data}, cores=(0, 1))
if me == 1: nisa.dma_copy(tile(2, 4), x.ap([[512, 2], [1, 4]], vector_offset=order, indirect_dim=0))
"""
    assert [one.code for one in findings(HALVES + body, PAIRS["TRN2-RACE"]) if one.code != "TRN2-INDEX"] == races


BESIDE = """me = nl.program_id(0)
box = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)
def turn(i):
    t = tile(4, 4)
    if me == 0: nisa.dma_copy(box, t)
    nisa.core_barrier(box, cores=(0, 1))
    if me == 1: nisa.dma_copy(t, box)
"""


@pytest.mark.parametrize(
    ("more", "turns", "races"),
    [
        ("", 2, 1),
        ("    nisa.core_barrier(box, cores=(0, 1))\n", 2, 0),
        ("", 1, 0),
    ],
)
def test_the_end_of_one_turn_goes_beside_the_beginning_of_the_next(more: str, turns: int, races: int) -> None:
    found = findings(f"{BESIDE}{more}nl.fori_loop(0, {turns}, turn)", PAIRS["TRN2-RACE"])
    assert [one.code for one in found] == ["TRN2-RACE"] * races


@pytest.mark.parametrize(("data", "races"), [("middle", 0), ("other", 1)])
def test_a_barrier_orders_its_data_alone(data: str, races: int) -> None:
    body = f"""
other = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)
nisa.core_barrier({data}, cores=(0, 1))
nisa.dma_copy(t, middle[nl.ds(1 - me, 1)])
"""
    assert [one.code for one in findings(HALVES + body, PAIRS["TRN2-RACE"])] == ["TRN2-RACE"] * races


@pytest.mark.parametrize(("first", "second"), [("other", "middle"), ("middle", "other")])
def test_cores_that_wait_over_different_tensors_do_not_meet(first: str, second: str) -> None:
    body = f"""
other = nl.ndarray((4, 4), nl.float32, buffer=nl.shared_hbm)
nisa.core_barrier({first} if me else {second}, cores=(0, 1))
nisa.core_barrier({second} if me else {first}, cores=(0, 1))
"""
    assert [one.code for one in findings(HALVES + body, PAIRS["TRN2-RACE"])] == ["TRN2-LNC-MEET"]


@pytest.mark.parametrize(
    ("dst", "src", "refused"),
    [("t", "t", True), ("t[:, 0:3]", "t[:, 1:4]", True), ("t[:, 0:1]", "t[:, 0:1]", True),
     ("t[:, 0:2]", "t[:, 2:4]", False), ("t", "tile(1, 4)", False)],
)  # fmt: skip
def test_an_exchange_overwrites_nothing_that_it_sends(dst: str, src: str, refused: bool) -> None:
    found = findings(f"{HALVES}nisa.sendrecv({src}, {dst}, 1 - me, 1 - me, 0)", PAIRS["TRN2-RACE"])
    assert {one.code for one in found} == ({"TRN2-ORDER-READ"} if refused else set())


def test_tiles_at_one_address_may_take_turns() -> None:
    turns = "for _ in range(2):\n    t = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset(t, 1)"
    assert findings(turns, PAIRS["TRN2-ADDRESS"]) == []


OVERLAID = """
one = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset(one, 1)
two = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset({written}, 2)
{mended}
nisa.tensor_copy(tile(*{read}.shape), {read})
"""


@pytest.mark.parametrize(
    ("written", "mended", "read", "refused"),
    [
        ("two", "pass", "one", True),
        ("two", "nisa.memset(one, 3)", "one", False),
        ("two", "nisa.memset(one[:, 0:1], 3)", "one", True),
        ("two", "nisa.memset(one[:, 0:1], 3)", "one[:, 0:1]", False),
        ("two", "nisa.memset(one[:, 0:2], 3); nisa.memset(one[:, 2:4], 3)", "one", False),
        ("two", "nisa.tensor_copy_predicated(one, tile(4, 4), tile(4, 4, dtype=nl.uint8))", "one", True),
        ("two[:, 0:1]", "pass", "one[:, 1:4]", False),
        ("two[:, 0:1]", "pass", "one[:, 0:1]", True),
        ("two[0:1, :]", "nisa.memset(one[0:1, :], 3)", "one", False),
    ],
)
def test_bytes_of_two_tiles_are_whose_wrote_them_last(written: str, mended: str, read: str, refused: bool) -> None:
    text = OVERLAID.format(written=written, mended=mended, read=read)
    assert ("TRN2-ADDRESS" in {one.code for one in findings(text, PAIRS["TRN2-ADDRESS"])}) == refused


@pytest.mark.parametrize(
    ("dst", "src", "refused"),
    [("two", "one", False), ("two[:, 0:3]", "one[:, 1:4]", True), ("two[:, 0:2]", "one[:, 2:4]", False),
     ("two[:, 0:1]", "one[:, 0:1]", False)],
)  # fmt: skip
def test_one_instruction_passes_from_tile_to_tile_of_the_same_bytes_in_place_alone(
    dst: str, src: str, refused: bool
) -> None:
    text = f"""
one = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset(one, 1)
two = nl.ndarray((4, 4), nl.float32, address=(0, 0))
nisa.tensor_copy({dst}, {src})
nisa.tensor_copy(tile(*{dst}.shape), {dst})
"""
    assert ("TRN2-ADDRESS" in {one.code for one in findings(text, PAIRS["TRN2-ADDRESS"])}) == refused


def test_an_index_tile_that_was_written_over_is_read() -> None:
    text = """
at = nl.ndarray((4, 1), nl.int32, address=(0, 0)); nisa.memset(at, 1)
over = nl.ndarray((4, 4), nl.float32, address=(0, 0)); nisa.memset(over, 2)
rows = nl.ndarray((4, 4), nl.float32, buffer=nl.private_hbm); nisa.dma_copy(rows, tile(4, 4))
nisa.dma_copy(tile(4, 4), rows.ap([[4, 4], [1, 4]], vector_offset=at))
nisa.tensor_copy(tile(4, 4), over)
"""
    assert "TRN2-ADDRESS" in {one.code for one in findings(text, PAIRS["TRN2-ADDRESS"])}


def test_waiting_for_a_transfer_by_copying_a_tensor_onto_itself_is_no_race() -> None:
    pair = PAIRS["TRN2-RACE"]
    assert findings(HALVES + "nisa.core_barrier(middle, cores=(0, 1))\nnisa.dma_copy(middle, middle)", pair) == []
    found = findings(HALVES + "nisa.dma_copy(middle, middle)", pair)
    assert {one.code for one in found} == {"TRN2-RACE", "TRN2-RACE-WRITE"}, "it may put back what it took too early"


def test_reading_what_the_other_core_reads_is_no_race() -> None:
    assert findings("nisa.dma_copy(tile(4, 4), x[0:4, 0:4])", PAIRS["TRN2-RACE"]) == []


def test_a_transposing_matmul_moves_unwritten_columns_instead_of_mixing_them() -> None:
    body = """
t = nl.ndarray((32, 8), nl.float32); nisa.memset(t[:, 0:7], 0)
p = nl.ndarray((8, 32), nl.float32, buffer=nl.psum)
nisa.nc_matmul(p, t, nl.shared_identity_matrix(32, dtype=nl.float32), is_transpose=True)
nisa.tensor_copy(tile(7, 32), p[0:7])
"""
    assert [f.code for f in findings(body, PAIRS["TRN2-INIT-MATMUL"])] == ["TRN2-INIT-READ"]
    mixed = body.replace(", is_transpose=True", "")
    assert "TRN2-INIT-MATMUL" in {f.code for f in findings(mixed, PAIRS["TRN2-INIT-MATMUL"])}


def test_an_output_that_moves_at_run_time_is_refused() -> None:
    body = """
t = nl.ndarray((4, 8), nl.float32, buffer=nl.shared_hbm)  # here
nisa.dma_copy(t, x[0:4, 0:8])
return t.ap([[8, 4], [1, 8]], scalar_offset=nisa.register_alloc(0), indirect_dim=1)
"""
    (found,) = [f for f in findings(body, PAIRS["TRN2-OUT-VIEW"]) if f.code == "TRN2-OUT-VIEW"]
    assert "at run time" in found.message


def test_a_broadcast_repeats_elements_and_counts_them_once() -> None:
    body = "t = tile(4, 512, buffer=nl.psum); nisa.tensor_copy(tile(4, 32, 512), t.ap([[512, 4], [0, 32], [1, 512]]))"
    assert findings(body, PAIRS["TRN2-AP-SIZE"]) == []


def test_garbage_for_a_gpsimd_core_whose_answer_is_dropped_is_no_error() -> None:
    body = """
t = nl.ndarray((32, 8), nl.float32); nisa.memset(t[0:1], 0)
found = nl.ndarray((32, 9), nl.int32)
nisa.nonzero_with_count(found, t)
nisa.tensor_copy(tile(1, 9, dtype=nl.int32), found[0:1])
"""
    assert [f.code for f in findings(body, PAIRS["TRN2-INIT-REDUCE"])] == ["TRN2-INIT-READ"]


@pytest.mark.parametrize("code", ["TRN2-INIT-MATMUL", "TRN2-INIT-REDUCE", "TRN2-INIT-READ"])
def test_a_read_of_unwritten_data_names_the_line_that_allocated_it(code: str) -> None:
    pair = PAIRS[code]
    (found,) = [f for f in findings(pair.bad, pair) if f.code == code]
    assert f"allocated in line {marked(pair.bad, pair) - 1}" in found.message


def test_an_output_that_nothing_has_written_names_its_line_once() -> None:
    pair = PAIRS["TRN2-INIT-OUTPUT"]
    (found,) = [f for f in findings(pair.bad, pair) if f.code == "TRN2-INIT-OUTPUT"]
    assert found.message.endswith("of the tensor allocated here.")
    assert found.line


@pytest.mark.parametrize(
    ("numbers", "dtype", "pattern", "refused"),
    [
        ("i[:, 0:1]", "uint32", [[512, 128], [1, 4]], False),
        ("i", "uint32", [[512, 128], [1, 4]], False),
        ("i[:, 0:1]", "int32", [[512, 128], [1, 4]], True),
        ("i[0:40, 0:1]", "uint32", [[512, 32], [1, 4]], True),
        ("i[0:64]", "uint32", [[512, 128], [1, 4]], True),
        ("i[:, 0:1]", "uint32", [[512, 128], [16, 2], [8, 2], [1, 4]], True),
        ("i[:, 0:1]", "uint32", [[512, 128], [1, 1], [8, 2], [1, 4]], False),
    ],
)
def test_a_transpose_gathers_by_numbers_of_one_format_in_whole_sixteens(
    numbers: str, dtype: str, pattern: list[list[int]], refused: bool
) -> None:
    first, *inner, last = [count for _, count in pattern]
    body = (
        f"i = tile(128, 2, dtype=nl.{dtype}); t = tile(*{[last, *inner, first]}, dtype=nl.bfloat16)\n"
        "h = nl.ndarray((128, 512), nl.bfloat16, buffer=nl.hbm); nisa.dma_copy(h, x)\n"
        f"nisa.dma_transpose(t, h.ap({pattern}, vector_offset={numbers}, indirect_dim=0))"
    )
    found = {finding.code for finding in findings(body, one(body, body))}
    assert ("TRN2-DMA-TRANSPOSE-IX" in found) is refused


@pytest.mark.parametrize(("written", "refused"), [("float32", True), ("bfloat16", False)])
def test_a_transpose_of_sixteen_bits_writes_sixteen_bits(written: str, refused: bool) -> None:
    halves = "tile(4, 4, dtype=nl.bfloat16)"
    line = f"nisa.nc_matmul(tile(4, 4, buffer=nl.psum, dtype=nl.{written}), {halves}, {halves}, is_transpose=True,"
    pair = one(f"{line} accumulate=False)", "")
    assert ("TRN2-MM-DST" in {finding.code for finding in findings(pair.bad, pair)}) == refused
