"""What a DMA can move, and what its descriptor engines support."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nki_anvil.sim import dtypes
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import MEMORIES, NONE
from nki_anvil.sim.rules.reading import Reading, Tile, Use
from nki_anvil.sim.rules.rule import Rule, Violation

_DMA = ("dma_copy", "dma_transpose", "dma_compute")
_AXES = ([1, 0], [2, 1, 0], [3, 1, 2, 0])
_HWDGE_ENGINES = ("sync", "scalar")
_SBUF = MEMORIES.index("sbuf")
_HWDGE_ROWS = (1, 2, 4, 8, 16)
_BLOCKS, _CORE = 4, 16
"""Dimensions of a transpose of blocks, and rows that one GpSimd core gathers by."""


def _breach(use: Use, message: str) -> Violation:
    return Violation(use.line, message, use.count)


def _psum_source(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_DMA):
        for tile in use.reads:
            if tile.memory == "psum":
                yield _breach(use, f"{use.name} reads PSUM.")


def _psum_target(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_DMA):
        if use.tiles["dst"].memory == "psum":
            yield _breach(use, f"{use.name} writes PSUM.")


def _sizes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_copy", "dma_compute"):
        dst = use.tiles["dst"]
        for tile in use.reads:
            if tile.size != dst.size:
                yield _breach(
                    use, f"{use.name} of {tile.size} elements {list(tile.shape)} to {dst.size} {list(dst.shape)}."
                )


def _hardware(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_copy"):
        if use["trigger"] not in (None, "unknown", *_HWDGE_ENGINES):
            yield _breach(use, f"dma_copy starts from the sync or the scalar engine, not from {use['trigger']}.")
        elif use["trigger"] not in (None, "unknown") and use["dge_mode"] != "hwdge":
            yield _breach(use, f"dma_copy names the {use['trigger']} engine with dge_mode={use['dge_mode']}.")
        if use["dge_mode"] != "hwdge":
            continue
        src, dst = use.tiles["src"], use.tiles["dst"]
        if src.dtype != dst.dtype:
            yield _breach(use, f"hwdge does not convert {src.dtype} to {dst.dtype}.")
        if "vector" in (src.indirect, dst.indirect):
            yield _breach(use, "hwdge does not gather or scatter.")


def _gathers(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        for slot, tile in use.tiles.items():
            if tile.indirect == "vector" and (tile.on_chip or use.engine != "dma"):
                yield _breach(use, f"{use.name} gathers {slot} by an index tile in {tile.memory}.")


def _transposes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_transpose"):
        src, dst = use.tiles["src"], use.tiles["dst"]
        if dst.memory != "sbuf":
            yield _breach(use, f"dma_transpose goes into sbuf, not into {dst.memory}.")
        if src.itemsize not in (2, 4):
            yield _breach(use, f"dma_transpose moves 2- and 4-byte formats, not {src.dtype}.")
        if src.dtype != dst.dtype:
            yield _breach(use, f"dma_transpose keeps its format: src is {src.dtype}, dst {dst.dtype}.")
        axes = use["axes"] or next((a for a in _AXES if len(a) == len(src.shape)), None)
        if axes not in _AXES or len(axes) != len(src.shape):
            yield _breach(use, f"dma_transpose of {len(src.shape)} dimensions by {axes}.")
            continue
        turned = [src.shape[axis] for axis in axes]
        if list(dst.shape) != turned:
            yield _breach(use, f"dma_transpose of {list(src.shape)} gives {turned}; dst is {list(dst.shape)}.")


def _gathered_transposes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_transpose"):
        src = use.tiles["src"]
        if src.indirect != "vector":
            continue
        if src.itemsize != 2 or src.shape[-1] > 128 or src.shape[0] % 16:
            limits = "rows by sixteens, of at most 128 two-byte elements"
            yield _breach(use, f"A transpose that gathers takes {limits}, not {list(src.shape)} of {src.dtype}.")
        elif len(src.shape) == _BLOCKS and 1 not in src.shape[1:3]:
            yield _breach(use, f"A transpose that gathers has an inner dimension of 1, and not {list(src.shape)}.")
    for line, tile in _numbering(reading):
        fits = tile.partitions % _CORE == 0 and (tile.elements == 1 or tile.partitions == reading.chip.partitions)
        if tile.dtype != "uint32" or not fits:
            limits = "16 to 128 of them by sixteens, or columns of 128"
            found = f"{list(tile.shape)} of {tile.dtype}"
            yield Violation(line, f"A transpose gathers by numbers in uint32, {limits}, not by {found}.")


def _numbering(reading: Reading) -> Iterator[tuple[int, Tile]]:
    """The index tiles of transposes, each once for a line."""
    program, every = reading.program, operands(reading.program)
    index, rows = program.tables["accesses"]["vector_access"][every.access], program.tables["instructions"]
    chosen = (index != NONE) & (rows["opcode"][every.instruction] == NAMES.index("dma_transpose"))
    lines = rows["line"][every.instruction[chosen]].tolist()
    for line, access in sorted(set(zip(lines, index[chosen].tolist(), strict=True))):
        yield line, reading.tile(access)


def _hardware_transposes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_transpose"):
        src = use.tiles["src"]
        if use["dge_mode"] in ("swdge", "none") and src.indirect != "vector":
            yield _breach(use, f"dma_transpose takes dge_mode unknown or hwdge, not {use['dge_mode']}.")
        if use["dge_mode"] == "hwdge":
            yield from _hardware_shape(use)


def _hardware_shape(use: Use) -> Iterator[Violation]:
    src = use.tiles["src"]
    rows, flat = src.shape[0], len(src.shape) == 2
    outer = rows == 16 if flat else rows in _HWDGE_ROWS and rows * src.shape[-2] % 16 == 0
    if not outer or src.shape[-1] > 128 or src.itemsize != 2:
        yield _breach(
            use, f"hwdge transposes blocks of 16 rows of at most 128 two-byte elements, not {list(src.shape)}."
        )


def _computes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_compute"):
        if use["reduce_op"] != "add":
            yield _breach(use, f"dma_compute adds; it cannot {use['reduce_op']}.")
        scales: list[float] = use["scales"] or []
        if any(scale != 1 for scale in scales):
            yield _breach(use, f"dma_compute takes scales of 1.0, not {scales}.")
        moved = any(tile.indirect == "vector" for tile in (*use.reads, *use.writes))
        if moved and (len(use.reads) != 2 or not use["unique_indices"]):
            yield _breach(use, "dma_compute by index takes two sources and unique indices.")
        if any(tile.indirect == "scalar" for tile in use.tiles.values()):
            yield _breach(use, "dma_compute has a tile at a place that is known when it runs.")


def _by_index(reading: Reading) -> Iterator[Violation]:
    """dma_compute by an index tile that is not dst + other, with what it reads and writes by index in HBM."""
    program = reading.program
    rows, memory = program.tables["instructions"], program.tables["tensors"]["memory"]
    owner, vector = program.tables["accesses"]["tensor"], program.tables["accesses"]["vector_access"]
    for index in np.flatnonzero(rows["opcode"] == NAMES.index("dma_compute")).tolist():
        first, count = int(rows["first_operand"][index]), int(rows["operands"][index])
        accesses = [a for a in program.tables["operands"]["access"][first : first + count].tolist() if a != NONE]
        if not any(vector[a] != NONE for a in accesses):
            continue
        dst, *srcs = accesses
        others = [src for src in srcs if not reading.same(src, dst)]
        line = int(rows["line"][index])
        if len(srcs) == 2 and len(others) == 2:
            yield Violation(line, "dma_compute by index has a dst that is none of its sources.")
        elif not any(memory[owner[a]] == _SBUF for a in (dst, *others)):
            yield Violation(line, "dma_compute by index from HBM to HBM.")


def _integers(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_copy"):
        src, dst = use.tiles["src"].dtype, use.tiles["dst"].dtype
        if src != dst and {src, dst} & {"int32", "uint32"} and dtypes.INTEGERS & {src} and dtypes.INTEGERS & {dst}:
            yield _breach(use, f"dma_copy converts {src} to {dst} through float32: exact only below 2^24.")


def _static(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("dma_copy", "dma_transpose"):
        moved = [slot for slot, tile in use.tiles.items() if tile.indirect]
        if use.attributes.get("dge_mode") == "none" and moved:
            yield _breach(use, f"{use.name} without DGE has {moved[0]} at a place that is known when it runs.")


def _skips(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_DMA):
        tiles = use.reads if use.name == "dma_transpose" else [*use.reads, *use.writes]
        if use["oob_mode"] == "skip" and not any(tile.indirect for tile in tiles):
            yield _breach(use, f"{use.name} skips what lies outside, and every place is known before it runs.")


RULES = (
    Rule("TRN2-DMA-PSUM", "A DMA does not read PSUM.", "error",
         "Copy the tile to SBUF with nisa.tensor_copy first, then store that.", "nki.isa.dma_copy, memory types",
         _psum_source, {"0.3": "warning"}),
    Rule("TRN2-DMA-PSUM-DST", "A DMA does not write PSUM.", "error",
         "Load into SBUF and copy it to PSUM with nisa.tensor_copy.", "nki.isa.dma_copy, memory types", _psum_target),
    Rule("TRN2-DMA-COUNT", "A DMA's source and destination have equally many elements.", "error",
         "Slice both to the same block.", "nki.isa.dma_copy, tile size", _sizes),
    Rule("TRN2-DMA-STATIC", "Without DGE a transfer's descriptors are made before the kernel runs.", "error",
         "Leave dge_mode out, or let it be hwdge or swdge.", "nki.isa.dma_copy, dge_mode.none", _static),
    Rule("TRN2-DMA-SKIP", "A transfer skips what lies outside only where data say where it goes.", "error",
         "Leave oob_mode out, and slice what lies inside.",
         "nki.isa.dma_copy, dma_transpose, dma_compute: oob_mode; NKI release notes, 2.30", _skips, {"beta1": "off"}),
    Rule("TRN2-DMA-HWDGE", "Hardware descriptors neither convert formats nor gather, and come from the sync or the"
         " scalar engine, which only they name.", "error",
         "Leave dge_mode and engine out, pass dge_mode=nisa.dge_mode.hwdge beside engine, or cast on an engine.",
         "nki.isa.dma_copy; Descriptor Generation Engine (DGE) reference guide", _hardware),
    Rule("TRN2-DMA-GATHER", "Only a DMA gathers by an index tile, and only rows of an HBM tensor.", "error",
         "Gather while loading from HBM, or use nisa.nc_n_gather within a partition.",
         "nki.isa.dma_copy, indirect addressing", _gathers),
    Rule("TRN2-DMA-TRANSPOSE", "dma_transpose keeps a 2- or 4-byte format and goes into SBUF; axes are (1, 0),"
         " (2, 1, 0) or (3, 1, 2, 0).",
         "error", "Give dst the permuted shape and src's format, or transpose on the tensor engine.",
         "nki.isa.dma_transpose", _transposes, {"0.4": "warning"}),
    Rule("TRN2-DMA-TRANSPOSE-IX", "A transpose that gathers takes rows by sixteens of at most 128 two-byte elements,"
         " by numbers in uint32.", "error",
         "Convert the numbers with nisa.tensor_copy; or gather with nisa.dma_copy, and transpose on an engine.",
         "nki.isa.dma_transpose, indirect transpose constraints; Descriptor Generation Engine (DGE) reference guide",
         _gathered_transposes),
    Rule("TRN2-DMA-TRANSPOSE-HW", "A hardware transpose takes blocks of 16 rows of at most 128 two-byte elements.",
         "error", "Leave dge_mode out.", "nki.isa.dma_transpose, direct transpose constraints", _hardware_transposes),
    Rule("TRN2-DMA-COMPUTE", "dma_compute adds with scales of one, at places that are known before, or by an index tile"
         " with two sources.", "error", "Scale on an engine, add with scales left out, and move what a register places"
         " with nisa.dma_copy.", "nki.isa.dma_compute, reduce_op, scales and memory types", _computes),
    Rule("TRN2-DMA-COMPUTE-IX", "dma_compute by index adds to dst itself, one side of it in SBUF.", "error",
         "Give dst as one source, dst = dst + src, with dst or src in SBUF; or gather with nisa.dma_copy, and add on an"
         " engine.", "nki.isa.dma_compute, read-modify-write with vector_offset", _by_index),
    Rule("TRN2-DMA-INT", "A DMA converts between integer formats through float32.", "warning",
         "Keep the values below 2^24, or convert on GpSimd.", "nki.isa.dma_copy, data types", _integers),
)  # fmt: skip
