"""What a reference itself holds: the sequences, tables and numbers that it is written with, or computes with whatever
it is given."""

from __future__ import annotations

import array
import dis
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import pairwise, zip_longest
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Final, NamedTuple, cast

import numpy as np

from nki_anvil.lab.arithmetic import Array, is_array
from nki_anvil.lab.meeting import Recording

SHORTEST: Final = 2
LONGEST: Final = 4096
"""Elements of a sequence, and parts of a list that are looked at."""
LARGEST: Final = 2.0**63
"""Numbers beyond that are none of an input's."""
AXES: Final = 4
"""Numbers up to there, as few of them, are axes rather than a sequence."""
DRAWING: Final = frozenset({"get_inputs"})
"""What is written there is how inputs are drawn."""
MOST: Final = 128
"""Sequences that are told apart, of each name the first before any other's second; as many blocks, and numbers."""
LINES: Final = 96
"""Rows and columns of a table that are taken for sequences."""
DEPTH: Final = 4
"""Of lists in lists, or in dictionaries."""
OPERANDS: Final = 96
"""Of a run, that are looked at."""
SIDE: Final = 64
"""Rows and columns of a block at most."""
SLENDER: Final = 2
"""How much longer one side of what a sequence is as a block may be than the other."""
SPELT: Final = 256
"""From there on a number may stand in a row digit by digit."""


class Held(NamedTuple):
    """What inputs may hold of it."""

    lines: Sequence[Array]
    """Sequences [n]."""
    blocks: Sequence[Array]
    """Small tables [h, w], and sequences as what tables they may be."""
    numbers: Sequence[int]
    """Whole ones, of several digits."""


class Operands(Recording):
    """What one run computes with, array by array."""

    def __init__(self) -> None:
        super().__init__()
        self.arrays: list[Array] = []

    def see(self, ufunc: np.ufunc, method: str, operands: Sequence[Any], axis: Any, result: Any) -> Any:
        """Take the operands alone."""
        for one in operands:
            if is_array(one) and one.dtype.kind in "fiub" and one.size <= LONGEST and len(self.arrays) < OPERANDS:
                self.arrays.append(np.array(one, np.float64))
        return result


def unmoved(one: Operands, other: Operands) -> Iterator[Array]:
    """What is the same in runs on different inputs."""
    for first, second in zip(one.arrays, other.arrays, strict=False):
        if first.shape == second.shape and np.array_equal(first, second):
            yield first


def held(named: Mapping[str, Any], computed: Iterable[Array] = ()) -> Held:
    """What names hold, and functions of them are written with, each once; and what runs ``computed`` with."""
    values = [*_values(named)]
    found = (*(part for value in values for part in _sequences(value)), *computed)
    arrays = [one for one in found if one.size]
    return Held(_lines(arrays), _blocks(arrays), _numbers(values))


def _values(held: Mapping[str, Any]) -> Iterator[Any]:
    functions: list[FunctionType] = []
    for name, one in held.items():
        if isinstance(one, FunctionType):
            functions += [one] if name not in DRAWING and one.__globals__ is held else []
        elif isinstance(one, type) and one.__module__ == held.get("__name__"):
            functions += [part for part in vars(one).values() if isinstance(part, FunctionType)]
            yield [part for key, part in vars(one).items() if not key.startswith("__")]
        elif not name.startswith("__"):
            yield one
    for one in functions:
        yield from _constants(one.__code__, one.__doc__)
        yield from (*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values())


def _constants(code: CodeType, documented: str | None) -> Iterator[Any]:
    """But for what is said of the function, and for names of arguments."""
    names = _keywords(code)
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _constants(value, None)
        elif (not isinstance(value, str) or value != documented) and (
            not isinstance(value, tuple) or value not in names
        ):
            yield value


def _keywords(code: CodeType) -> set[Any]:
    """Names by which calls give arguments, which Python 3.11 and 3.13 keep among the constants, each in its way."""
    steps = [*dis.get_instructions(code)]
    following = pairwise(steps)
    return {code.co_consts[one.arg] for one in steps if one.opname == "KW_NAMES" and one.arg is not None} | {
        one.argval for one, then in following if one.opname == "LOAD_CONST" and then.opname == "CALL_KW"
    }


def _sequences(value: Any, depth: int = DEPTH) -> Iterator[Array]:
    """What a value is, or holds: several of unlike lengths in a list, keys and values of a dictionary."""
    value = _plain(value)
    if _is_numbers(value):
        yield np.array(value, np.float64)
    elif depth and isinstance(value, Mapping):
        inside = cast(Mapping[Any, Any], value)
        for part in (list(inside.values()), list(inside)):
            yield from _sequences(part, depth - 1)
    elif depth and isinstance(value, list):
        for part in cast(list[Any], value)[:LONGEST]:
            yield from _sequences(part, depth - 1)


def _plain(value: Any) -> Any:
    """An array, a list or a dictionary for what is one but for its kind; anything else as it is."""
    if isinstance(value, re.Pattern):
        value = cast("re.Pattern[Any]", value).pattern
    if isinstance(value, str):
        return [ord(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(cast("set[Any]", value), key=repr)
    if isinstance(value, (tuple, list, deque, bytes, bytearray, array.array)):
        return [0 if one is None else one for one in cast(Sequence[Any], value)]  # None: whatever stands there
    if isinstance(value, range):
        return list(value[: LONGEST + 1])
    if isinstance(value, SimpleNamespace) or (is_dataclass(value) and not isinstance(value, type)):
        return [part for key in dir(value) if not key.startswith("__") and not callable(part := getattr(value, key))]
    return value


def _is_number(value: Any) -> bool:
    if isinstance(value, np.number):
        value = cast(Any, value).item()
    return isinstance(value, (int, float)) and abs(value) < LARGEST


def _is_numbers(value: Any) -> bool:
    if is_array(value):
        return value.dtype.kind in "fiub" and SHORTEST <= value.size <= LONGEST
    if not isinstance(value, list):
        return False
    numbers = cast(list[Any], value)
    if not (SHORTEST <= len(numbers) <= LONGEST and all(map(_is_number, numbers))):
        return False
    return len(numbers) > AXES or any(abs(one) > AXES for one in numbers)


def _lines(arrays: Sequence[Array]) -> list[Array]:
    """Each once: what is no one number throughout, and a table's rows along each of its axes."""
    found: dict[tuple[float, ...], Array] = {}
    for lines in zip_longest(*(_along_each_axis(np.squeeze(one)) for one in arrays)):
        for line in lines:
            if line is not None and len(line) >= SHORTEST and np.isfinite(line).all() and np.ptp(line) > 0:
                found.setdefault(tuple(line.tolist()), line)
    return list(found.values())[:MOST]


def _along_each_axis(array: Array) -> Iterator[Array]:
    for axis in reversed(range(array.ndim)):
        yield from np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])[:LINES]


def _blocks(arrays: Sequence[Array]) -> list[Array]:
    """Each once: planes of tables, and h by w what is a sequence of so many."""
    found: dict[tuple[tuple[int, ...], bytes], Array] = {}
    for blocks in zip_longest(*(_planes(np.squeeze(one)) for one in arrays)):
        for block in blocks:
            if block is not None and np.isfinite(block).all() and np.ptp(block) > 0:
                found.setdefault((block.shape, block.tobytes()), block)
    return list(found.values())[:MOST]


def _planes(array: Array) -> Iterator[Array]:
    if array.ndim > 1 and max(array.shape[-2:]) <= SIDE:
        yield from array.reshape(-1, *array.shape[-2:])[:LINES]
    for line in array.reshape(-1, array.shape[-1])[:LINES] if array.ndim else ():
        for height in range(SHORTEST, min(SIDE, len(line) // SHORTEST) + 1):
            width, rest = divmod(len(line), height)
            if not rest and max(width, height) <= min(SIDE, SLENDER * min(width, height)):
                yield line.reshape(height, width)


def _numbers(values: Iterable[Any]) -> list[int]:
    found = (n for value in values for n in _whole(value, DEPTH) if n >= SPELT)
    return list(dict.fromkeys(found))[:MOST]


def _whole(value: Any, depth: int) -> Iterator[int]:
    if not isinstance(value, (str, bytes)):
        value = _plain(value)
    if isinstance(value, np.integer):
        value = cast(Any, value).item()
    if isinstance(value, int):
        yield from [value] if 0 <= value < LARGEST else []
    elif is_array(value) and value.dtype.kind in "iu" and value.size <= LONGEST:
        yield from (int(n) for n in value.flat if n >= 0)
    elif depth and isinstance(value, Mapping):
        inside = cast(Mapping[Any, Any], value)
        for part in (list(inside.values()), list(inside)):
            yield from _whole(part, depth - 1)
    elif depth and isinstance(value, list):
        for part in cast(list[Any], value)[:LONGEST]:
            yield from _whole(part, depth - 1)
