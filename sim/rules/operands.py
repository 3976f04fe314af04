"""Shapes and formats that an instruction's operands must have among themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nki_anvil.sim import dtypes
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.operands import indices, operands
from nki_anvil.sim.operations import BITVEC, COMPARISONS, REDUCTIONS
from nki_anvil.sim.rules.reading import Reading, Use
from nki_anvil.sim.rules.rule import BETA1, Rule, Violation

_FP32_MIN = -3.4028234663852886e38
_ALIKE = {
    "tensor_copy": ("dst", "src"),
    "tensor_copy_predicated": ("dst", "src", "predicate"),
    "tensor_tensor": ("dst", "data1", "data2"),
    "tensor_scalar": ("dst", "data"),
    "scalar_tensor_tensor": ("dst", "data", "operand1"),
    "activation": ("dst", "data"),
    "activation_reduce": ("dst", "data"),
    "reciprocal": ("dst", "data"),
    "select_reduce": ("dst", "on_true", "predicate"),
    "range_select": ("dst", "on_true_tile"),
    "affine_select": ("dst", "on_true_tile"),
    "dropout": ("dst", "data"),
    "tensor_scalar_reduce": ("dst", "data"),
    "tensor_scalar_cumulative": ("dst", "src"),
    "tensor_tensor_scan": ("dst", "data0", "data1"),
    "nc_match_replace8": ("dst", "data"),
    "nc_n_gather": ("dst", "indices"),
}
"""Operands that have equally many partitions, and equally many elements in each."""
_COLUMNS = {
    "tensor_scalar": ("data", ("operand0", "operand1")),
    "scalar_tensor_tensor": ("data", ("operand0",)),
    "tensor_scalar_reduce": ("data", ("operand0", "reduce_init", "reduce_res")),
    "tensor_scalar_cumulative": ("src", ("operand0", "operand1")),
    "tensor_tensor_scan": ("data0", ("initial",)),
    "activation": ("data", ("bias", "scale", "reduce_res")),
    "activation_reduce": ("data", ("bias", "scale", "reduce_res")),
    "select_reduce": ("on_true", ("on_false", "reduce_res")),
    "range_select": ("on_true_tile", ("bound0", "bound1", "reduce_res")),
    "dropout": ("data", ("prob",)),
}
"""Operands of one value per partition, and the operand whose partitions they match."""
_FP32_COLUMNS = {
    "tensor_scalar": ("operand0", "operand1"),
    "tensor_scalar_cumulative": ("operand0", "operand1"),
    "tensor_scalar_reduce": ("operand0", "reduce_init"),
    "activation": ("scale",),
    "activation_reduce": ("scale",),
    "range_select": ("bound0", "bound1"),
}
_PREDICATES = {
    "tensor_copy_predicated": ("uint8", "uint16", "uint32", "bool_"),
    "select_reduce": ("int8", "uint8", "int16", "uint16", "bool_"),
}


_INDEX8 = ("uint16", "uint32")
_NARROW = tuple(name for name in dtypes.NAMES if name not in ("int32", "uint32"))
_FORMATS = {
    "nc_find_index8": {"dst": _INDEX8},
    "nc_match_replace8": {"dst_idx": _INDEX8},
    "topk": {"idx_dst": ("uint32",), "src": ("bfloat16",), "val_dst": ("bfloat16",)},
    "select_reduce": {"reduce_res": tuple(dtypes.FLOATS)},
    "nonzero_with_count": {"dst": ("int32",), "src": ("float32", "int32")},
    "sequence_bounds": {"dst": ("float32", "int32"), "segment_ids": ("float32", "int32")},
    "tensor_scalar_cumulative": {"dst": _NARROW, "src": _NARROW},
}
"""The formats of operands that an instruction does not convert."""


_REDUCES = {
    "tensor_partition_reduce": ("op", ("add", "average", "maximum", "bitwise_or", "bitwise_and")),
    "tensor_scalar_reduce": ("reduce_op", ("add", "multiply", "maximum", "minimum")),
    "tensor_scalar_cumulative": ("op1", ("add", "subtract", "multiply", "maximum", "minimum")),
    "tensor_reduce": ("op", tuple(sorted(REDUCTIONS - {"average", "subtract"}))),
}
"""By what an instruction reduces, of which the pages name fewer operators than the table of reductions. They name
``subtract`` for tensor_reduce and say nowhere whether its first element is added or subtracted."""

_COMMANDS = {
    "tensor_scalar_reduce": ("reset_reduce", "reduce", "load_reduce"),
    "tensor_scalar_cumulative": ("reset_reduce", "reduce", "load_reduce"),
    "select_reduce": ("reset_reduce", "reduce", "idle"),
    "activation": ("reset", "idle", "reduce", "reset_reduce"),
}
"""What an instruction tells its engine's accumulators; range_select's page names no choice."""

_RANGES = COMPARISONS - {"not_equal"}
"""How range_select compares positions with its bounds."""


def _breach(use: Use, message: str) -> Violation:
    return Violation(use.line, message, use.count)


def _alike(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_ALIKE):
        slots = [slot for slot in _ALIKE[use.name] if slot in use.tiles]
        shapes = {(use.tiles[slot].partitions, use.tiles[slot].elements) for slot in slots}
        if len(shapes) > 1:
            text = ", ".join(f"{slot} {list(use.tiles[slot].shape)}" for slot in slots)
            yield _breach(use, f"{use.name} has operands of different sizes: {text}.")


def _columns(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_COLUMNS):
        main, slots = _COLUMNS[use.name]
        for slot in slots:
            tile = use.tiles.get(slot)
            if tile is not None and (tile.partitions, tile.elements) != (use.tiles[main].partitions, 1):
                message = f"{use.name} takes {slot} of [{use.tiles[main].partitions}, 1], not {list(tile.shape)}."
                yield _breach(use, message)


def _fp32_columns(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_FP32_COLUMNS):
        if use.attributes.get("op0") in BITVEC:
            continue
        for slot in _FP32_COLUMNS[use.name]:
            tile = use.tiles.get(slot)
            if tile is not None and tile.dtype != "float32":
                yield _breach(use, f"{use.name} takes {slot} in float32, not {tile.dtype}.")


def _bias(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("activation", "activation_reduce"):
        if "bias" in use.tiles and use.tiles["bias"].dtype == "tfloat32":
            yield _breach(use, f"{use.name} does not take a bias in tfloat32.")
        if use["reduce_op"] not in (None, "add"):
            yield _breach(use, f"{use.name} reduces by add only, not {use['reduce_op']}.")
    if reading.program.version == BETA1:
        return
    for use in reading.named("activation"):
        if use["reduce_op"] is None and use["reduce_cmd"] in ("reduce", "reset_reduce"):
            yield _breach(use, "activation accumulates, and names no reduce_op.")


def _idle(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("activation"):
        if "reduce_res" in use.tiles and use["reduce_op"] and use["reduce_cmd"] == "idle":
            yield _breach(
                use, "activation reads its accumulator into reduce_res, but reduce_cmd=idle leaves it as it was."
            )


def _predicates(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_PREDICATES):
        found = use.tiles["predicate"].dtype
        if found not in _PREDICATES[use.name]:
            yield _breach(use, f"{use.name} takes a predicate of {', '.join(_PREDICATES[use.name][:-1])}, not {found}.")
    for use in reading.named("tensor_copy_predicated"):
        if "src" in use.tiles and use.tiles["src"].dtype != use.tiles["dst"].dtype:
            yield _breach(
                use, f"tensor_copy_predicated keeps its format: {use.tiles['src'].dtype} to {use.tiles['dst'].dtype}."
            )


def _selects(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("range_select", "select_reduce"):
        chosen = use.tiles["on_true_tile" if use.name == "range_select" else "on_true"]
        refused = chosen.dtype in ("tfloat32", "int32", "uint32") or (
            use.name == "range_select" and chosen.dtype not in dtypes.FLOATS
        )
        if refused:
            yield _breach(use, f"{use.name} does not select from {chosen.dtype}.")
        if use["reduce_op"] not in (None, "maximum"):
            yield _breach(use, f"{use.name} reduces by maximum only, not {use['reduce_op']}.")
    for use in reading.named("range_select"):
        fill = use["on_false_value"]
        if fill is None or abs(fill / _FP32_MIN - 1) > 1e-6:
            yield _breach(use, f"range_select fills with the smallest float32, not {fill}.")
        for compare in {use["comp_op0"], use["comp_op1"]} - _RANGES:
            yield _breach(use, f"range_select does not compare by {compare}.")
        if abs(use["range_start"]) + use.tiles["on_true_tile"].elements > 1 << 24:
            yield _breach(use, "range_select compares positions in float32: exact only up to 2^24.")


def _memsets(reading: Reading) -> Iterator[Violation]:
    """0.0 has the bits of 0, and the vendor's own library fills uint32 tiles with it (``cross_partition_copy``)."""
    for use in reading.named("memset"):
        value, found = use["value"], use.tiles["dst"].dtype
        if found not in dtypes.INTEGERS:
            continue
        if isinstance(value, float) and value != 0.0:
            yield _breach(use, f"memset of {found} with the float {value}.")
        elif not _holds(found, value):
            yield _breach(use, f"memset of {found} with {value}, which it does not hold.")


def _holds(dtype: str, value: float) -> bool:
    limits = np.iinfo(dtypes.numpy_dtype(dtype))
    return limits.min <= value <= limits.max


def _reduces(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("tensor_reduce"):
        data, dst = use.tiles["data"], use.tiles["dst"]
        rank = len(data.shape)
        axes = sorted(axis % rank for axis in use["axes"])
        if not axes or axes[0] == 0 or axes != list(range(axes[0], rank)):
            yield _breach(use, f"tensor_reduce over {use['axes']} of {rank} dimensions.")
            continue
        kept = 1
        for count in data.shape[1 : axes[0]]:
            kept *= count
        if (dst.partitions, dst.elements) != (data.partitions, kept):
            yield _breach(use, f"tensor_reduce leaves [{data.partitions}, {kept}]; dst is {list(dst.shape)}.")


def _formats(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_FORMATS):
        for slot, formats in _FORMATS[use.name].items():
            if slot in use.tiles and (found := use.tiles[slot].dtype) not in formats:
                instead = f", but {' or '.join(formats)}" if len(formats) <= len(_INDEX8) else ""
                yield _breach(use, f"{use.name} takes no {slot} in {found}{instead}.")


def _reductions(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_REDUCES):
        attribute, operators = _REDUCES[use.name]
        if use[attribute] not in (None, *operators):
            yield _breach(use, f"{use.name} reduces by {', '.join(operators)}, not by {use[attribute]}.")


def _commands(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_COMMANDS):
        if use["reduce_cmd"] not in _COMMANDS[use.name]:
            message = f"{use.name} takes reduce_cmd {', '.join(_COMMANDS[use.name])}, not {use['reduce_cmd']}."
            yield _breach(use, message)
    for use in reading.named("tensor_scalar_reduce"):
        loads, begins = use["reduce_cmd"] == "load_reduce", "reduce_init" in use.tiles
        if loads != (begins or use["reduce_init_value"] is not None):
            yield _breach(
                use, f"tensor_scalar_reduce with {use['reduce_cmd']} has {'no' if loads else 'a'} reduce_init."
            )


def _unsupported(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("tensor_scalar_reduce"):
        if use["reverse0"]:
            yield _breach(use, "tensor_scalar_reduce does not reverse the inputs of op0.")
        if use["op0"] in BITVEC:
            yield _breach(use, f"tensor_scalar_reduce takes arithmetic operators, not {use['op0']}.")


def _registers(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("register_load", "register_store"):
        for tile in (*use.reads, *use.writes):
            if tile.size != 1 or tile.memory == "psum":
                yield _breach(
                    use, f"{use.name} takes one element in HBM or SBUF, not {list(tile.shape)} in {tile.memory}."
                )
            elif tile.dtype not in dtypes.INTEGERS:
                yield _breach(use, f"{use.name} moves bits, and those of {tile.dtype} are no number for a register.")


def _indices(reading: Reading) -> Iterator[Violation]:
    """Offsets that accesses read at run time; one line each."""
    rows = reading.program.tables["instructions"]
    sites, accesses = indices(reading.program, operands(reading.program))
    several = rows["opcode"][sites] == NAMES.index("dma_transpose")  # which takes a tile of them
    found = set(zip(rows["line"][sites].tolist(), accesses.tolist(), several.tolist(), strict=True))
    for line, access, any_shape in sorted(found):
        tile = reading.tile(access)
        if tile.dtype not in dtypes.INTEGERS:
            yield Violation(line, f"An offset is read from a tile of {tile.dtype}; its bits are taken as an integer.")
        elif reading.program.version != BETA1 and (tile.memory != "sbuf" or (tile.elements != 1 and not any_shape)):
            message = f"Offsets are read from {list(tile.shape)} in {tile.memory}, not from one column in sbuf."
            yield Violation(line, message)


RULES = (
    Rule("TRN2-SHAPE", "The tiles of an elementwise instruction have equal partitions and equal elements in each.",
         "error", "Slice the tiles to one size; broadcast with .broadcast(), or with a per-partition operand.",
         "nki.isa: tile size of each instruction", _alike),
    Rule("TRN2-COLUMN", "An operand that is broadcast along the free dimension is of shape [partitions, 1].", "error",
         "Slice one column, for instance t[:, 0:1].", "nki.isa.tensor_scalar, nki.isa.activation", _columns),
    Rule("TRN2-COLUMN-FP32", "Per-partition operands of arithmetic and the activation's scale are float32.",
         "error", "Copy the column into a float32 tile first.", "nki.isa.tensor_scalar, data types; nki.isa.activation",
         _fp32_columns),
    Rule("TRN2-ACT", "activation takes no tfloat32 bias, and reduces by add, which it names.", "error",
         "Use a float32 bias, pass reduce_op=nl.add, and take nisa.tensor_reduce for other reductions.",
         "nki.isa.activation", _bias),
    Rule("TRN2-ACT-IDLE", "An accumulator that is read was accumulated into.", "warning",
         "Pass reduce_cmd=nisa.reduce_cmd.reset_reduce.", "nki.isa.activation, reduce_cmd", _idle),
    Rule("TRN2-PREDICATE", "Predicates are small unsigned integers, and a predicated copy keeps its format.", "error",
         "Write the comparison into a uint8 tile.",
         "nki.isa.tensor_copy_predicated, nki.isa.select_reduce", _predicates),
    Rule("TRN2-SELECT", "Selects take no 32-bit integers, compare in order or for equality, fill with the smallest"
         " float32, and keep the maximum.", "error", "Use nisa.tensor_copy_predicated for other formats and values.",
         "nki.isa.range_select, nki.isa.select_reduce", _selects),
    Rule("TRN2-MEMSET", "memset fills an integer tile with an integer that its format holds.", "error",
         "Write the value without a decimal point, or choose a wider tile.", "nki.isa.memset", _memsets,
         {"0.3": "warning"}),
    Rule("TRN2-REDUCE", "tensor_reduce reduces trailing free dimensions, and dst has what is left.", "error",
         "Rearrange the view so that the reduced dimensions come last.", "nki.isa.tensor_reduce", _reduces,
         {"0.3": "warning"}),
    Rule("TRN2-REGISTER", "Registers exchange one integer with HBM or SBUF, bit by bit.", "error",
         "Slice a single element, of int32; convert floats with nisa.tensor_copy first.",
         "nki.isa.register_load, nki.isa.register_store", _registers),
    Rule("TRN2-FORMAT", "Instructions that find places store them as integers, a cumulative one takes none of 32"
         " bits, and sequence_bounds takes 32 bits alone.", "error",
         "Give the tile the format that the message names, and convert it with nisa.tensor_copy.",
         "nki.isa.nc_find_index8, nc_match_replace8, topk, nonzero_with_count, tensor_scalar_cumulative,"
         " sequence_bounds", _formats,
         {"beta1": "warning"}),
    Rule("TRN2-REDUCE-OP", "A reduction over partitions, or beside tensor_scalar, has operators of its own, and one"
         " over the free dimensions neither averages nor subtracts.", "error",
         "Turn the tile and use nisa.tensor_reduce, negate before a maximum for a minimum, divide a sum by its count,"
         " and subtract a sum with nisa.tensor_tensor.",
         "nki.isa.tensor_partition_reduce, op; nki.isa.tensor_scalar_reduce, reduce_op; NKI API Common Fields, legal"
         " reduction op", _reductions,
         {"beta1": "warning"}),
    Rule("TRN2-REDUCE-CMD", "An instruction tells its accumulators only what its page names, and has a first value"
         " exactly where it loads one.", "error",
         "Begin with reduce_cmd=nisa.reduce_cmd.reset_reduce and go on with reduce; give reduce_init with load_reduce"
         " alone.",
         "nki.isa.tensor_scalar_reduce, tensor_scalar_cumulative, select_reduce, activation: reduce_cmd", _commands,
         {"beta1": "off"}),
    Rule("TRN2-SCALAR-REDUCE", "tensor_scalar_reduce takes one arithmetic operator, and data on its left.", "error",
         "Negate around a subtraction, or compute with nisa.tensor_scalar and reduce with nisa.tensor_reduce.",
         "nki.isa.tensor_scalar_reduce, op0 and reverse0 (not supported yet)", _unsupported),
    Rule("TRN2-INDEX", "Offsets that an access reads at run time are integers in SBUF, one in each partition.", "error",
         "Load them into a column of SBUF, and convert others into int32 or uint32 with nisa.tensor_copy.",
         "nki.isa.dma_copy, indirect addressing: vector_offset of shape (P, 1), scalar_offset of (1, 1)", _indices),
)  # fmt: skip
