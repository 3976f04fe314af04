"""Instructions that compute element by element. Signatures follow the stubs of ``nki.isa``."""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim import operations
from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, engine, reduce_cmd
from nki_anvil.sim.isa.operands import (
    alike,
    choice,
    emit,
    flag,
    operation,
    optional_operation,
    scalar,
    sized,
    unit_of,
)
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

_ALU: Final = operations.ALU


def tensor_tensor(
    dst: NkiTensor,
    data1: NkiTensor,
    data2: NkiTensor,
    op: Any,
    engine: engine = engine.unknown,
    name: str | None = None,
) -> NkiInstruction:
    """dst = data1 op data2."""
    alike("tensor_tensor", dst=dst, data1=data1, data2=data2)
    what = operation(op, "tensor_tensor", "op", _ALU)
    unit = unit_of("tensor_tensor", engine, _arithmetic_unit(what, dst, data1, data2))
    return emit("tensor_tensor", (dst, data1, data2), (what,), unit)


def _arithmetic_unit(what: str, *tiles: NkiTensor) -> str:
    """What computes in integers is GpSimd's by default, with a tile in PSUM the Vector Engine's; in Beta 1 it may have
    none there (nki.isa.tensor_tensor).
    """
    if what == "power":
        return "gpsimd"
    builder = live()
    reached = builder.beta1 or all(t.buffer is MemoryRegion.sbuf for t in tiles)
    words = reached and all(t.dtype in operations.WORDS for t in tiles)
    return "gpsimd" if words and what in operations.exact(builder.dialect) else "vector"


def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    engine: engine = engine.unknown,
    name: str | None = None,
) -> NkiInstruction:
    """dst = (data op0 operand0) op1 operand1; operands are numbers or one value per partition."""
    alike("tensor_scalar", dst=dst, data=data)
    first = operation(op0, "tensor_scalar", "op0", _ALU)
    second = optional_operation(op1, "tensor_scalar", "op1", _ALU)
    tile0, value0 = _operand("tensor_scalar", "operand0", first, operand0, data)
    tile1, value1 = _operand("tensor_scalar", "operand1", second, operand1, data)
    values = (first, value0, flag(reverse0), second, value1, flag(reverse1))
    default = "gpsimd" if "rsqrt" in (first, second) and not live().beta1 else None
    return emit("tensor_scalar", (dst, data, tile0, tile1), values, unit_of("tensor_scalar", engine, default))


def _operand(name: str, slot: str, op: str | None, value: Any, data: NkiTensor) -> tuple[NkiTensor | None, Any]:
    """The operand of an operation, which is there exactly if the operation takes one."""
    given = scalar(value, name, slot, data.shape[0])
    unary = op is None or op in operations.UNARY or op in operations.BITWISE_UNARY
    if unary and (given[0] is not None or given[1] not in (None, 0)) and op != "bypass":
        raise TraceError("NKI-TYPE", f"{slot} of nisa.{name} stands for {op}, which takes none.", remedy="Pass None.")
    if not unary and given == (None, None):
        raise TraceError("NKI-TYPE", f"nisa.{name} lacks {slot} for {op}.", remedy="Pass a number or a [P, 1] tile.")
    return (None, None) if unary else given


def scalar_tensor_tensor(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> NkiInstruction:
    """dst = (data op0 operand0) op1 operand1, the second operand a tile."""
    alike("scalar_tensor_tensor", dst=dst, data=data, operand1=operand1)
    first = operation(op0, "scalar_tensor_tensor", "op0", _ALU)
    tile0, value0 = _operand("scalar_tensor_tensor", "operand0", first, operand0, data)
    second = operation(op1, "scalar_tensor_tensor", "op1", _ALU)
    return emit(
        "scalar_tensor_tensor", (dst, data, tile0, operand1), (first, value0, flag(reverse0), second, flag(reverse1))
    )


def activation(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: reduce_cmd = reduce_cmd.idle,
    name: str | None = None,
) -> NkiInstruction:
    """dst = op(data * scale + bias), with an optional sum along the free dimensions."""
    alike("activation", dst=dst, data=data)
    what = operation(op, "activation", "op", operations.ACTIVATIONS)
    bias_tile, bias_value = scalar(0.0 if bias is None else bias, "activation", "bias", data.shape[0])
    scale_tile, scale_value = scalar(scale, "activation", "scale", data.shape[0])
    result = None if reduce_res is None else sized("activation", "reduce_res", reduce_res, data.shape[0], 1)
    combine = optional_operation(reduce_op, "activation", "reduce_op", operations.REDUCTIONS)
    command = _command("activation", reduce_cmd)
    return emit(
        "activation",
        (dst, result, data, bias_tile, scale_tile),
        (what, bias_value, scale_value, combine, command),
    )


def _command(name: str, value: Any) -> str:
    return choice(value, reduce_cmd, name, "reduce_cmd")


def activation_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    bias: Any = None,
    scale: Any = 1.0,
    name: str | None = None,
) -> NkiInstruction:
    """dst = op(data * scale + bias) and its reduction along the free dimensions, which None leaves in the engine."""
    if reduce_res is None:
        return activation(dst, op, data, bias, scale, reduce_op, None, reduce_cmd.reset_reduce, name)
    alike("activation_reduce", dst=dst, data=data)
    what = operation(op, "activation_reduce", "op", operations.ACTIVATIONS)
    bias_tile, bias_value = scalar(0.0 if bias is None else bias, "activation_reduce", "bias", data.shape[0])
    scale_tile, scale_value = scalar(scale, "activation_reduce", "scale", data.shape[0])
    result = sized("activation_reduce", "reduce_res", reduce_res, data.shape[0], 1)
    combine = operation(reduce_op, "activation_reduce", "reduce_op", operations.REDUCTIONS)
    return emit(
        "activation_reduce", (dst, result, data, bias_tile, scale_tile), (what, bias_value, scale_value, combine)
    )


def reciprocal(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> NkiInstruction:
    """dst = 1 / data, on the vector engine."""
    alike("reciprocal", dst=dst, data=data)
    return emit("reciprocal", (dst, data))


def dropout(dst: NkiTensor, data: NkiTensor, prob: Any, name: str | None = None) -> NkiInstruction:
    """Zero elements with a probability."""
    alike("dropout", dst=dst, data=data)
    chance, value = scalar(prob, "dropout", "prob", data.shape[0])
    return emit("dropout", (dst, data, chance), (value,))


__all__ = [
    "activation",
    "activation_reduce",
    "dropout",
    "reciprocal",
    "scalar_tensor_tensor",
    "tensor_scalar",
    "tensor_tensor",
]
