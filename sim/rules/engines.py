"""Which engine reaches what and can do what."""

from __future__ import annotations

from collections.abc import Iterator

from nki_anvil.sim import dtypes
from nki_anvil.sim.instructions import TABLE
from nki_anvil.sim.operations import ABSENT, BITVEC, BITWISE_UNARY, UNARY, WORDS, exact
from nki_anvil.sim.rules.reading import Reading, Use
from nki_anvil.sim.rules.rule import BETA1, Rule, Violation

_COMPUTE = ("tensor", "vector", "scalar", "gpsimd")
_OPEN = ("register_load", "register_store", "device_print", "core_barrier")
"""Instructions that may touch HBM from an engine."""
PAIRS = {
    "tensor_tensor": ("data1", "data2"),
    "tensor_tensor_scan": ("data0", "data1"),
    "scalar_tensor_tensor": ("data", "operand1"),
    "tensor_copy_predicated": ("src", "predicate"),
    "select_reduce": ("on_true", "predicate"),
}
"""The two tiles that an instruction reads side by side: one of them may be in PSUM, not both."""
_SCALAR_ENGINE = {("multiply", "add"), ("multiply", None), ("add", None)}
"""What tensor_scalar can do on the Scalar Engine of Trainium2."""
_COPIES = ("tensor_copy", "memset", "nc_transpose", "nc_stream_shuffle", "nc_matmul", "nc_find_index8", "rng")

_BESIDE = {
    "tensor_scalar": ("op0", "op1"),
    **dict.fromkeys(("tensor_scalar_reduce", "tensor_scalar_cumulative", "scalar_tensor_tensor"), ("op0",)),
}
"""Operators beside a scalar."""
_ARITHMETIC = frozenset({"scalar_tensor_tensor", "tensor_tensor_scan"})
"""Whose documents rule bit operators out."""
_LATER = frozenset({"square", "relu", "bypass"})
"""What tensor_scalar and its kin compute from NeuronCore-v4 on alone."""
_ONE_OPERAND = UNARY | BITWISE_UNARY
_BINARY = {
    "tensor_tensor": (("op",), _ONE_OPERAND - {"abs", "rsqrt"}),
    "scalar_tensor_tensor": (("op1",), _ONE_OPERAND),
    "tensor_tensor_scan": (("op0", "op1"), _ONE_OPERAND),
}
"""Operators between two tiles, and what they cannot be. ``abs`` and ``rsqrt`` of tensor_tensor are in the notes of NKI
0.2; the operator of scalar_tensor_tensor beside a scalar is tensor_scalar's."""


def _gpsimd(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        if use.engine == "gpsimd" and not reading.chip.gpsimd_psum_access:
            for slot, tile in use.tiles.items():
                if tile.memory == "psum":
                    yield Violation(
                        use.line, f"{use.name} on GpSimd has {slot} in PSUM, which GpSimd cannot reach.", use.count
                    )


def _hbm(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        if use.engine in _COMPUTE and use.name not in _OPEN:
            for slot, tile in use.tiles.items():
                if not tile.on_chip:
                    yield Violation(use.line, f"{use.name} has {slot} in HBM, which only a DMA can reach.", use.count)


def _both(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*PAIRS):
        slots = PAIRS[use.name]
        if all(slot in use.tiles and use.tiles[slot].memory == "psum" for slot in slots):
            yield Violation(use.line, f"{use.name} has both {slots[0]} and {slots[1]} in PSUM.", use.count)


def _wrong_engine(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        reason = _objection(use) or ("" if reading.program.version == BETA1 else _root_objection(use))
        if reason:
            yield Violation(use.line, f"{use.name} on the {use.engine} engine: {reason}.", use.count)


def _objection(use: Use) -> str:
    if use.engine not in TABLE[use.name].engines:
        return f"it runs on {', '.join(TABLE[use.name].engines)}"
    if use.name == "tensor_tensor" and use["op"] == "power" and use.engine != "gpsimd":
        return "power runs on gpsimd"
    if use.name in ("tensor_tensor", "tensor_scalar"):
        return _operator_objection(use)
    return ""


def _root_objection(use: Use) -> str:
    """Beta 1's compiler chooses the engine of a root itself."""
    named = [use[name] for name in _BESIDE.get(use.name, ())]
    return "rsqrt runs on gpsimd or scalar" if use.engine == "vector" and "rsqrt" in named else ""


def _operator_objection(use: Use) -> str:
    first, second = (use["op"], None) if use.name == "tensor_tensor" else (use["op0"], use["op1"])
    if (first in BITVEC or second in BITVEC) and use.engine != "vector":
        return "bit operators run on vector"
    if use.name == "tensor_scalar" and use.engine == "gpsimd" and "rsqrt" not in (first, second):
        return f"it computes rsqrt there, not {first}{f' and {second}' if second else ''}"
    if use.name == "tensor_scalar" and use.engine == "scalar" and (first, second) not in _SCALAR_ENGINE:
        return f"it can multiply, add, or multiply and add, not {first}{f' and {second}' if second else ''}"
    return ""


def _integers(reading: Reading) -> Iterator[Violation]:
    whole = exact(reading.program.version)
    for use in reading.uses:
        on_gpsimd = use.engine == "gpsimd" and use.name == "tensor_tensor" and use["op"] not in whole | {"power"}
        if not (on_gpsimd or use.engine in ("vector", "scalar")) or use.name in _COPIES or not use.attributes:
            continue
        if any(use.attributes.get(name) in BITVEC for name in ("op", "op0")):
            continue
        words = [tile.dtype for tile in (*use.reads, *use.writes) if tile.dtype in WORDS]
        if words and any(tile.dtype in WORDS for tile in use.reads):
            message = f"{use.name} computes {words[0]} in float32 on the {use.engine} engine: exact only below 2^24."
            yield Violation(use.line, message, use.count)


def _bits(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        names = [use.attributes.get(name) for name in ("op", "op0", "op1")]
        bits = [name for name in names if name in BITVEC]
        if not bits:
            continue
        if use.name in _ARITHMETIC:
            yield Violation(use.line, f"{use.name} takes no bit operators, such as {bits[0]}.", use.count)
            continue
        others = [name for name in names if name and name not in BITVEC]
        if others:
            yield Violation(use.line, f"{use.name} mixes {bits[0]} with {others[0]}.", use.count)
        yield from _patterns(use, bits[0], reading.program.version == BETA1)
        broken = [value for value in map(use.attributes.get, ("value0", "value1")) if value and value % 1]
        if broken:
            yield Violation(use.line, f"{use.name} applies {bits[0]} to {broken[0]}.", use.count)
        if use.attributes.get("negate"):
            yield Violation(use.line, f"{use.name} negates what {bits[0]} leaves, which is no number.", use.count)


def _patterns(use: Use, op: str, widened: bool) -> Iterator[Violation]:
    """Patterns are never converted, and no page says what one of eight bits is beside one of 32; Beta 1 widens."""
    found = [tile.dtype for tile in (*use.writes, *use.reads)]
    floats = [dtype for dtype in found if dtype not in dtypes.INTEGERS]
    if floats:
        yield Violation(use.line, f"{use.name} applies {op} to {floats[0]}.", use.count)
    elif not widened and len({dtypes.size_of(dtype) for dtype in found}) > 1:
        yield Violation(use.line, f"{use.name} applies {op} to patterns of {' and '.join(found)}.", use.count)


def _absent(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        for name in ("op", "op0", "op1", "reduce_op"):
            if use.attributes.get(name) in ABSENT:
                yield Violation(use.line, f"{use.name} names {use[name]}, which no engine of this chip has.", use.count)


def _later(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_BESIDE):
        for name in _BESIDE[use.name]:
            if use[name] in _LATER:
                yield Violation(use.line, f"{use.name} computes no {use[name]} on this chip.", use.count)


def _unary(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_BINARY):
        names, refused = _BINARY[use.name]
        for name in names:
            if use[name] in refused:
                yield Violation(use.line, f"{use.name} combines two operands, and {use[name]} takes one.", use.count)


RULES = (
    Rule("TRN2-ENG-PSUM", "GpSimd does not reach PSUM.", "error",
         "Run the instruction on the vector or scalar engine, or copy the tile to SBUF first.",
         "Trainium/Inferentia2 Architecture Guide for NKI, GpSimd Engine", _gpsimd),
    Rule("TRN2-ENG-HBM", "Engines read and write SBUF and PSUM; HBM is reached by DMA.", "error",
         "Load the tensor into SBUF with nisa.dma_copy first.",
         "Trainium/Inferentia2 Architecture Guide for NKI", _hbm),
    Rule("TRN2-ENG-BOTH", "Of the two inputs of an elementwise instruction at most one is in PSUM.", "error",
         "Copy one of them to SBUF first.",
         "nki.isa.tensor_tensor, nki.isa.tensor_copy_predicated: memory types", _both),
    Rule("TRN2-ENG-CHOICE", "An instruction runs on an engine that has it.", "error",
         "Leave engine out, or choose one that the instruction names.",
         "nki.isa: the engine parameters; NKI API Common Fields, supported math operators",
         _wrong_engine),
    Rule("TRN2-INT-FP32", "Vector and scalar engines compute 32-bit integers in float32; GpSimd, too, in NKI 0.2, and"
         " in Beta 1 but for sums, differences and products.", "warning",
         "Use nisa.tensor_tensor with engine=nisa.engine.gpsimd for exact integers where the version has them, or keep"
         " the values below 2^24.",
         "nki.isa.tensor_tensor, data types, in SDK 2.26, 2.28 and 2.29", _integers),
    Rule("TRN2-BITVEC", "Bit operators take and leave integers of one width, both operators of one instruction are of"
         " one kind, and nothing is negated behind them.", "error",
         "View the tile as an integer format, convert it with nisa.tensor_copy to the width of the others, and split"
         " mixed operators into two instructions.",
         "NKI API Common Fields, supported math operators; nki.isa.tensor_tensor (bit patterns without any data type"
         " casting); nki.isa.tensor_reduce, negate", _bits),
    Rule("TRN2-ALU", "Engines have neither a division nor a remainder, nor extremes by magnitude.", "error",
         "Multiply by nisa.reciprocal of the divisor; take nl.abs before nl.maximum or nl.minimum.",
         "NKI API Common Fields, supported math operators; nki.language.abs_max", _absent,
         before={BETA1: "off"}),
    Rule("TRN2-ALU-LATER", "On this chip tensor_scalar and its kin have neither square nor relu, and pass nothing"
         " through.", "error",
         "Square with nisa.activation(op=nl.square), or multiply the tile by itself with nisa.tensor_tensor; take"
         " nl.maximum with 0.0 for relu, and leave out an operator that does nothing.",
         "NKI release notes, 2.30: nl.square and nl.relu as op0 on trn3, nl.bypass for nki.isa.activate2", _later,
         before={BETA1: "off"}),
    Rule("TRN2-ALU-BINARY", "What an instruction computes between two tiles is a binary operator.", "error",
         "Compute what takes one operand with nisa.activation, nisa.reciprocal or nisa.tensor_scalar.",
         "nki.isa.tensor_tensor, op; nki.isa.tensor_tensor_scan, op0 and op1; nki.isa.scalar_tensor_tensor", _unary,
         before={BETA1: "off"}),
)  # fmt: skip
