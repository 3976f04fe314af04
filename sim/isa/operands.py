"""Arguments of instructions: checked for their type and for what a program cannot say, and brought to one form.

What the machine can or cannot do with them is judged later, from the program.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np

from nki_anvil.sim import operations, versions
from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.instructions import ENGINES, NAMES, TABLE
from nki_anvil.sim.isa.enums import NkiInstruction, dge_mode, engine
from nki_anvil.sim.register import VirtualRegister
from nki_anvil.sim.tensor import NkiTensor

Number: TypeAlias = float | int | bool
Engine: TypeAlias = engine

_NUMBER: Final = {unit: index for index, unit in enumerate(ENGINES)}
_OPCODE: Final = {name: index for index, name in enumerate(NAMES)}
_ALLOWED: Final = {name: TABLE[name].engines for name in NAMES}


def emit(
    name: str, operands: Sequence[NkiTensor | None], values: tuple[Any, ...] = (), unit: str | None = None
) -> NkiInstruction:
    """Record one instruction on an engine, by default the table's first."""
    builder = live()
    builder.record(_OPCODE[name], _NUMBER[unit or _ALLOWED[name][0]], operands, values)
    return NkiInstruction(builder.place())


def unit_of(name: str, wanted: Any, default: str | None = None) -> str:
    """The engine's name; ``unknown`` gives the default, else the table's first."""
    if wanted is engine.unknown or wanted is None:
        return default or _ALLOWED[name][0]
    unit = wanted.name if isinstance(wanted, engine) else None
    if unit not in _ALLOWED[name]:
        raise TraceError(
            "NKI-ENGINE", f"nisa.{name} does not run on {wanted}.", remedy=f"Choose from {', '.join(_ALLOWED[name])}."
        )
    return unit


def tile(value: Any, name: str, slot: str) -> NkiTensor:
    """The operand, which must be a tensor."""
    if type(value) is NkiTensor:
        return value
    raise TraceError(
        "NKI-TYPE", f"{slot} of nisa.{name} is {described(value)}, not a tensor.", remedy=_remedy(value, name)
    )


def described(value: Any) -> str:
    """A short phrase for a value of the wrong type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"a {type(value).__name__}"


def _remedy(value: Any, name: str) -> str:
    if isinstance(value, NkiInstruction):
        return "Instructions write their dst and return no tile: allocate it with nl.ndarray and pass it as dst."
    if isinstance(value, (tuple, list)):
        return "Pass dst first: in the current dialect shapes belong to nl.ndarray."
    return f"Pass dst first, then the inputs: nisa.{name}(dst, ...)."


def alike(name: str, **tiles: Any) -> None:
    """Refuse what is no tensor, and tiles that differ in partitions or in elements per partition from the first."""
    first: NkiTensor | None = None
    partitions, size = 0, 0
    for slot, value in tiles.items():
        given = value if type(value) is NkiTensor else tile(value, name, slot)
        shape = given.shape
        if first is None:
            first, partitions, size = given, shape[0], math.prod(shape)
        elif shape[0] != partitions or math.prod(shape) != size:
            raise mismatch(name, next(iter(tiles)), first, slot, given)


def mismatch(name: str, slot: str, one: NkiTensor, other_slot: str, other: NkiTensor) -> TraceError:
    """The error for two tiles whose shapes do not go together."""
    return TraceError(
        "NKI-SHAPE",
        f"nisa.{name}: {slot} has shape {one.shape}, {other_slot} {other.shape}.",
        remedy="Partitions and elements per partition must match: slice both alike.",
    )


def sized(name: str, slot: str, value: Any, partitions: int, elements: int) -> NkiTensor:
    """A tensor of so many partitions and elements per partition."""
    given = tile(value, name, slot)
    if given.shape[0] != partitions or math.prod(given.shape[1:]) != elements:
        raise TraceError(
            "NKI-SHAPE",
            f"nisa.{name}: {slot} has shape {given.shape}, expected [{partitions}, {elements}].",
            remedy="Allocate or slice it to that shape.",
        )
    return given


def number(value: Any, name: str, slot: str) -> Number:
    """A Python number; NumPy's scalars and members of enumerations become one."""
    if type(value) in (bool, int, float):
        return value
    if isinstance(value, float):  # np.float64 is one, and so is its negative zero
        return float(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (np.generic, np.ndarray)) and value.size == 1:
        return number(value.item(), name, slot)
    raise TraceError(
        "NKI-TYPE", f"{slot} of nisa.{name} is {described(value)}, not a number.", remedy="Pass a Python number."
    )


def integer(value: Any, name: str, slot: str) -> int:
    """A Python integer."""
    try:
        return operator.index(value)
    except TypeError as error:
        raise TraceError(
            "NKI-TYPE", f"{slot} of nisa.{name} is {described(value)}, not an integer.", remedy="Pass an integer."
        ) from error


def arithmetic(value: Any, name: str, slot: str) -> Number:
    """A number that is no boolean: booleans count as 0 and 1."""
    given = number(value, name, slot)
    return int(given) if isinstance(given, bool) else given


def scalar(value: Any, name: str, slot: str, partitions: int) -> tuple[NkiTensor | None, Number | None]:
    """An operand that is a number or one value per partition, as (tile, number) of which one is None."""
    if value is None:
        return None, None
    if type(value) is NkiTensor:
        return sized(name, slot, value, partitions, 1), None
    if isinstance(value, VirtualRegister):
        raise TraceError(
            "NKI-TYPE", f"{slot} of nisa.{name} is a register.", remedy="Write it to a tile with nisa.register_store."
        )
    return None, arithmetic(value, name, slot)


def flag(value: Any) -> bool:
    """A Python boolean."""
    return bool(value)


_NUMPY: Final[Mapping[Any, str]] = {
    getattr(np, numpy_name): name
    for numpy_name, name in {
        "absolute": "abs",
        "power": "power",
        "divide": "divide",
        "invert": "invert",
        "max": "maximum",
        "min": "minimum",
        "sum": "add",
        "prod": "multiply",
        "all": "logical_and",
        "copy": "copy",
        **{name: name for name in (*operations.ALU, *operations.ACTIVATIONS) if hasattr(np, name)},
    }.items()
    if hasattr(np, numpy_name)
}


def operation(value: Any, name: str, slot: str, allowed: frozenset[str]) -> str:
    """The canonical name of an operation given as ``nl.add``, ``nl.exp`` or their NumPy namesakes."""
    found = getattr(value, "operation", None) or (_NUMPY.get(value) if callable(value) else None)
    if type(found) is str and found in allowed:
        return found
    shown = found or getattr(value, "__name__", None) or described(value)
    raise TraceError(
        "NKI-OPERATION",
        f"{slot} of nisa.{name} is {shown}, which it cannot do.",
        remedy=_operation_remedy(value, allowed),
    )


def _operation_remedy(value: Any, allowed: frozenset[str]) -> str:
    if isinstance(value, str):
        return f"Pass the function, nl.{value if value in allowed else 'add'}, not its name."
    return f"It takes {', '.join('nl.' + name for name in sorted(allowed))}."


def optional_operation(value: Any, name: str, slot: str, allowed: frozenset[str]) -> str | None:
    """Like ``operation``, or None."""
    return None if value is None else operation(value, name, slot, allowed)


def choice(value: Any, kind: type[Enum], name: str, slot: str) -> str:
    """The name of a member of an enumeration of ``nki.isa``."""
    if isinstance(value, kind):
        return value.name
    if isinstance(value, int) and (kind is dge_mode or live().beta1 or versions.before(live().version, "0.3")):
        return _member(value, kind, name, slot)
    raise TraceError(
        "NKI-TYPE",
        f"{slot} of nisa.{name} is {described(value)}.",
        remedy=f"Use nisa.{kind.__name__}.{next(iter(kind)).name} or another of its members.",
    )


def _member(value: int, kind: type[Enum], name: str, slot: str) -> str:
    """A member by its number, as NKI 0.2 has it; AWS's kernel library still writes ``dge_mode`` so."""
    for member in kind:
        if member.value == value:
            return member.name
    raise TraceError(
        "NKI-TYPE", f"{slot} of nisa.{name} is {value}.", remedy=f"nisa.{kind.__name__} has no such value."
    )


def integers(values: Any, name: str, slot: str) -> tuple[int, ...] | None:
    """A tuple of integers; None for None and for an empty one."""
    return tuple(integer(value, name, slot) for value in values) if values else None


def affine(pattern: Any, name: str) -> tuple[tuple[int, int], ...]:
    """A pattern of [step, count] pairs, slowest first."""
    pairs = tuple(tuple(integer(value, name, "pattern") for value in pair) for pair in pattern)
    if not pairs or any(len(pair) != 2 or pair[1] < 1 for pair in pairs):
        raise TraceError("NKI-RANK", f"nisa.{name}: {pattern} is no pattern.", remedy="Give [[step, count], ...].")
    return tuple((pair[0], pair[1]) for pair in pairs)
