"""The tensor engine's rules: where its operands lie, how large they are, which formats meet, where sums begin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nki_anvil.sim import dtypes
from nki_anvil.sim.chips import starts
from nki_anvil.sim.instructions import TABLE
from nki_anvil.sim.kinds import dynamic, named, row_elements
from nki_anvil.sim.operands import operands
from nki_anvil.sim.program import MEMORIES, NONE
from nki_anvil.sim.rules.reading import Reading, Tile, Use
from nki_anvil.sim.rules.rule import BETA1, Rule, Violation

_FP32 = {"float32", "tfloat32"}
_FP8 = {"float8_e4m3", "float8_e5m2"}
_BYTES = _FP8 | {"int8", "uint8"}
"""Formats of one byte. The guide tells of float8 alone, and no page of integers in a matmul; AWS's kernels turn bytes
as float8 on trn2."""
_TILE_SIZES = (32, 64, 128)
_SIDES = 2
_HALF = 64
_SLOTS = TABLE["nc_matmul"].slots


def _breach(use: Use, message: str) -> Violation:
    return Violation(use.line, message, use.count)


def _placement(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_matmul"):
        for slot, wanted in (("stationary", "sbuf"), ("moving", "sbuf"), ("dst", "psum")):
            if use.tiles[slot].memory != wanted:
                yield _breach(use, f"nc_matmul has its {slot} in {use.tiles[slot].memory}; it must be in {wanted}.")


def _paired(use: Use) -> bool:
    return use["perf_mode"] == "double_row"


def columns(use: Use, tile: Tile) -> int:
    """The free size of a matmul operand, without the pair of rows that double_row packs."""
    return tile.elements // 2 if _paired(use) else tile.elements


def _shapes(reading: Reading) -> Iterator[Violation]:
    chip = reading.chip
    for use in reading.named("nc_matmul"):
        stationary, moving, dst = (use.tiles[slot] for slot in ("stationary", "moving", "dst"))
        m, n = columns(use, stationary), columns(use, moving)
        if stationary.partitions != moving.partitions:
            message = f"stationary has {stationary.partitions} partitions and moving {moving.partitions}"
            yield _breach(use, f"nc_matmul contracts over partitions: {message}.")
        if m > chip.stationary_free_max:
            yield _breach(use, f"The stationary operand has {m} columns; at most {chip.stationary_free_max} fit.")
        if n > chip.moving_free_max:
            yield _breach(use, f"The moving operand has {n} columns; at most {chip.moving_free_max} fit.")
        if (dst.partitions, dst.elements) != (m, n):
            yield _breach(use, f"The result is [{m}, {n}]; dst is {list(dst.shape)}.")


def _formats(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_matmul"):
        first, second = use.tiles["stationary"].dtype, use.tiles["moving"].dtype
        bad = [name for name in (first, second) if name not in dtypes.FLOATS]
        if bad:
            yield _breach(use, f"nc_matmul takes float formats, not {bad[0]}.")
        elif (first in _FP32) != (second in _FP32):
            yield _breach(use, f"nc_matmul cannot pair {first} with {second}.")
        elif _paired(use) and not {first, second} <= _FP8:
            yield _breach(use, f"double_row takes float8 formats, not {first} and {second}.")


def _result_format(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_matmul"):
        found, data = use.tiles["dst"].dtype, use.tiles["stationary"].dtype
        if use["is_transpose"] and found == "float32" and data not in ("float32", "tfloat32"):
            if reading.program.version != BETA1:
                yield _breach(use, f"nc_matmul with is_transpose writes {data}, its data's format; dst is {found}.")
        elif found != "float32" and not (use["is_transpose"] and found == data):
            yield _breach(use, f"nc_matmul writes float32 on this chip; dst is {found}.")


def _tiling(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_matmul"):
        position: list[int] = use["tile_position"] or []
        size: list[int] = use["tile_size"] or []
        if not position and not size:
            continue
        if len(position) != 2 or len(size) != 2:
            yield _breach(use, "tile_position and tile_size are set together, two numbers each.")
            continue
        yield from _tile_breaches(use, position, size)


def _tile_breaches(use: Use, position: list[int], size: list[int]) -> Iterator[Violation]:
    stationary = use.tiles["stationary"]
    if any(n not in _TILE_SIZES for n in size):
        yield _breach(use, f"tile_size {size}: rows and columns are 32, 64 or 128.")
    elif any(start % n or not 0 <= start <= 128 - n for start, n in zip(position, size, strict=True)):
        yield _breach(use, f"tile_position {position} is not a multiple of tile_size {size} inside 128 x 128.")
    elif stationary.partitions > size[0] or columns(use, stationary) > size[1]:
        yield _breach(use, f"The stationary operand {list(stationary.shape)} is larger than tile_size {size}.")
    elif _paired(use) and size[1] != 128:
        yield _breach(use, "double_row cannot be combined with column tiling.")


def _corners(reading: Reading) -> Iterator[Violation]:
    """Tiles of the array that are fed from other partitions, or drained to others, than their rows and columns."""
    program, rows = reading.program, reading.program.tables["instructions"]
    tiled = np.array([bool(record.get("tile_position")) for record in program.attributes], np.bool_)
    chosen = named(program, "nc_matmul") & tiled[rows["attributes"]] if len(tiled) else np.zeros(0, np.bool_)
    for index in np.flatnonzero(chosen).tolist():
        position: list[int] = program.attributes[int(rows["attributes"][index])]["tile_position"]
        slots = zip(_SLOTS, program.operands(index), strict=True)
        for slot, access in slots:
            start = position[slot == "dst"] if len(position) == _SIDES else NONE
            if start != NONE and start not in (found := _starts(reading, int(access))):
                side, fed = ("column", "written") if slot == "dst" else ("row", "read")
                message = f"nc_matmul has its tile at {side} {start}, and its {slot} is {fed} at partition"
                yield Violation(int(rows["line"][index]), f"{message} {' or '.join(map(str, found))}.")


def _apart(reading: Reading) -> Iterator[Violation]:
    """Products of operands in other partitions each, as far as it is known where their tensors lie."""
    program, every = reading.program, operands(reading.program)
    accesses, tensors = program.tables["accesses"], program.tables["tensors"]
    owner = accesses["tensor"]
    lies = (tensors["address_partition"][owner] != NONE) | (tensors["partitions"][owner] > _HALF)
    lies &= ~dynamic(program) & (tensors["memory"][owner] == MEMORIES.index("sbuf"))
    start = accesses["offset"] // row_elements(program) + np.maximum(tensors["address_partition"][owner], 0)
    product = named(program, "nc_matmul")[every.instruction]
    pair = [every.access[product & (every.slot == _SLOTS.index(slot))] for slot in ("stationary", "moving")]
    lines = program.tables["instructions"]["line"][np.flatnonzero(named(program, "nc_matmul"))]
    broken = lies[pair[0]] & lies[pair[1]] & (start[pair[0]] != start[pair[1]])
    for line, first, second in zip(lines[broken], start[pair[0][broken]], start[pair[1][broken]], strict=True):
        found = f"stationary from partition {int(first)} on, and moving from {int(second)} on"
        yield Violation(int(line), f"nc_matmul reads {found}.")


def _untiled(reading: Reading) -> Iterator[Violation]:
    """Products without a tile, which take the whole array: its first column drains into partition 0."""
    program, rows = reading.program, reading.program.tables["instructions"]
    plain = np.array([not record.get("tile_position") for record in program.attributes], np.bool_)
    chosen = named(program, "nc_matmul") & plain[rows["attributes"]] if len(plain) else np.zeros(0, np.bool_)
    for index in np.flatnonzero(chosen).tolist():
        access = int(program.operands(index)[_SLOTS.index("dst")])
        if 0 not in (found := _starts(reading, access)):
            message = f"nc_matmul names no tile, and its dst is written from partition {found[0]} on."
            yield Violation(int(rows["line"][index]), message)


def _starts(reading: Reading, access: int) -> list[int]:
    """The partitions at which an operand may begin: a small tensor without an address may lie in any quadrant."""
    tensor = int(reading.program.tables["accesses"]["tensor"][access])
    rows, own = reading.program.tables["tensors"], reading.tile(access)
    count = int(rows["partitions"][tensor])
    bases = starts(count) if int(rows["address_partition"][tensor]) == NONE else (0,)
    return [own.start_partition + base for base in bases] if own.on_chip and not own.indirect else list(range(128))


def _pairs(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_matmul"):
        for slot in ("stationary", "moving"):
            shape = use.tiles[slot].shape
            if _paired(use) and (len(shape) < 3 or shape[1] != 2):
                yield _breach(use, f"double_row needs {slot} of [K, 2, columns]; it is {list(shape)}.")
        if _paired(use) and use["is_transpose"]:
            yield _breach(use, "double_row cannot be combined with transpose mode.")


def _banks(reading: Reading) -> Iterator[Violation]:
    bank = reading.chip.psum_bank_bytes
    for use in reading.uses:
        dst = use.tiles.get("dst")
        if use.engine == "tensor" and dst is not None and dst.memory == "psum":
            first, last = dst.low // bank, (dst.low + dst.reach - 1) // bank
            if first != last:
                message = f"{use.name} writes {dst.reach} bytes per partition over PSUM banks {first} to {last}."
                yield _breach(use, message)


def _transposes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_transpose"):
        data, dst = use.tiles["data"], use.tiles["dst"]
        most = 128 if use.engine == "tensor" else 32
        if data.partitions > most or data.elements > most:
            yield _breach(
                use, f"nc_transpose on the {use.engine} engine takes at most {most} x {most}, not {list(data.shape)}."
            )
        if (dst.partitions, dst.elements) != (data.elements, data.partitions):
            yield _breach(use, f"The transpose of {list(data.shape)} does not fit dst {list(dst.shape)}.")
        if dst.dtype != data.dtype:
            yield _breach(use, f"nc_transpose keeps its format: data is {data.dtype}, dst {dst.dtype}.")
        if use.engine == "tensor" and (data.memory, dst.memory) != ("sbuf", "psum"):
            yield _breach(
                use, f"nc_transpose on the tensor engine goes from sbuf to psum, not {data.memory} to {dst.memory}."
            )


def _bytes_apart(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        dst = use.tiles.get("dst")
        turned = use.engine == "tensor" and (use.name == "nc_transpose" or use.attributes.get("is_transpose"))
        if not turned or dst is None or dst.dtype not in _BYTES:
            continue
        steps = [step for step, count in zip(dst.steps[1:], dst.shape[1:], strict=True) if count > 1]
        if dst.low % _SIDES or any(step % _SIDES for step in steps):
            yield _breach(use, f"{use.name} writes {dst.dtype} byte by byte, and each of its results takes two bytes.")


def _added(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_matmul"):
        if use["is_transpose"] and use["accumulate"]:
            yield _breach(use, "nc_matmul with is_transpose adds to what an earlier matmul has written.")


_ISA = "nki.isa.nc_matmul"
RULES = (
    Rule("TRN2-MM-PLACE", "A matmul reads SBUF and writes PSUM.", "error",
         "Load operands into SBUF, let dst be a PSUM tensor, and copy it to SBUF afterwards.", _ISA, _placement),
    Rule("TRN2-MM-SHAPE", "stationary is [K, M], moving [K, N], dst [M, N], with K and M up to 128 and N up to 512.",
         "error", "Tile the product: K over partitions, M up to 128, N up to 512, accumulating over K in PSUM.", _ISA,
         _shapes),
    Rule("TRN2-MM-DTYPE", "A matmul takes float formats; float32 and tfloat32 pair only with each other.", "error",
         "Cast one operand, for instance with nisa.tensor_copy into a tile of the other's format.", _ISA, _formats),
    Rule("TRN2-MM-DST", "A matmul writes float32; a transpose keeps its data's format.", "error",
         "Let dst be float32, or of a transpose the data's format, and cast when copying it to SBUF.",
         "nki.isa.nc_matmul; Trainium2 Architecture Guide for NKI, built-in transpose support", _result_format),
    Rule("TRN2-MM-TILE", "Tiling mode takes rows and columns of 32, 64 or 128 at multiples of that size.", "error",
         "Set tile_size and tile_position together, and keep the stationary operand inside the tile.", _ISA, _tiling),
    Rule("TRN2-MM-CORNER", "In tiling mode operands lie in the partitions of their tile's rows, and dst in those of its"
         " columns.", "error", "Let tile_position be (the operands' first partition, dst's first partition).",
         "Trainium/Inferentia2 Architecture Guide for NKI, Tensor Engine (partitions feed rows, columns drain into"
         " partitions)", _corners),
    Rule("TRN2-MM-WHOLE", "Without a tile a matmul takes the whole array, whose columns drain from partition 0 on.",
         "error", "Set tile_position and tile_size, so that the tile's first column is dst's first partition, or let"
         " dst begin at partition 0.",
         "nki.isa.nc_matmul, tile_position (not set: equivalent to (0, 0))", _untiled, {"beta1": "off"}),
    Rule("TRN2-MM-PAIR", "stationary and moving start at the same partition: each feeds one row of the array.", "error",
         "Copy one of them into a tile that starts where the other does.",
         "Trainium/Inferentia2 Architecture Guide for NKI, Tensor Engine (partitions feed rows)", _apart,
         {"beta1": "warning"}),
    Rule("TRN2-MM-ROWS", "double_row packs two rows: the first free dimension of both operands is 2, and nothing is"
         " transposed.", "error", "Lay both operands out as [K, 2, columns], and transpose without perf_mode.",
         "nki.isa.nc_matmul; Trainium2 Architecture Guide for NKI, double FP8 performance mode", _pairs),
    Rule("TRN2-PSUM-BANK", "What one tensor engine instruction writes lies inside one PSUM bank of 2 KiB.", "error",
         "Give dst at most 512 float32 per partition, aligned to a bank.",
         "nki.language.tile_size, psum_bank_fmax; nki.isa.nc_matmul", _banks),
    Rule("TRN2-MM-MOVE", "A matmul in transpose mode moves data and sums nothing: it overwrites.", "error",
         "Pass accumulate=False, or give every transpose its own place in PSUM; to sum, leave is_transpose out.",
         "Trainium2 Architecture Guide for NKI, built-in transpose support", _added),
    Rule("TRN2-TRANSPOSE", "nc_transpose takes 128 x 128 from SBUF to PSUM on the tensor engine, 32 x 32 on vector, one"
         " format.", "error", "Transpose block by block, or choose the other engine.", "nki.isa.nc_transpose",
         _transposes),
    Rule("TRN2-TRANSPOSE-FP8", "The tensor engine's transpose of float8, or of other bytes, leaves elements of 16 bits,"
         " the upper eight of which are zeros.", "error", "Let dst be every second element, p[:, :, 0] of a PSUM tile"
         " [rows, columns, 2]; or transpose in bfloat16.",
         "Trainium2 Architecture Guide for NKI, built-in transpose support", _bytes_apart,
         {"beta1": "off"}),  # whose compiler places results itself
)  # fmt: skip
