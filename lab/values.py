"""NumPy arrays whose operations follow the arithmetic in force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from nki_anvil.lab import reassociated, sides
from nki_anvil.lab.arithmetic import Arithmetic, Array, complex_of, floating, in_force, is_array, is_float
from nki_anvil.lab.chosen import Weight, chosen, descent, is_choice, is_part, is_weighed
from nki_anvil.lab.compared import DECIDING, edges_in_force, note
from nki_anvil.lab.constant_numbers import own
from nki_anvil.lab.contractions import dot, einsum, inner, tensordot, vdot
from nki_anvil.lab.folding import SLAB, fold, in_many_steps, keep, kept_where, lost, matmul, on_the_way, weighed
from nki_anvil.lab.open_sorts import argpartition, argsort
from nki_anvil.lab.partial_sums import partial_sums
from nki_anvil.lab.spoken_formats import (
    all_as_stored,
    arrays_of,
    as_stored,
    bits,
    coarse,
    common,
    narrow,
    rounded_to,
    seen_as,
    told,
)

NOISY: Final = frozenset({
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.tanh, np.sinh, np.cosh, np.sin,
    np.cos, np.tan, np.arctan, np.arctan2, np.power, np.float_power, np.divide, np.reciprocal, np.hypot,
})  # fmt: skip
"""Functions that an engine approximates."""


ROUNDING: Final = frozenset({
    np.rint, np.floor, np.ceil, np.trunc, np.floor_divide, np.remainder, np.fmod, np.divmod, np.modf, np.frexp,
})  # fmt: skip
"""To whole numbers, or what is left of that."""


_OF_A_FORMAT: Final = frozenset({np.spacing, np.nextafter})
"""What asks where the next number is: float32's, as for whoever reads its bits."""


_SMALLEST: Final = 2.0**-126
"""The smallest normal number of float32."""
_FRACTION: Final = {np.dtype(np.float32): np.uint32((1 << 23) - 1), np.dtype(np.float64): np.uint64((1 << 52) - 1)}
"""The bits behind the first of a number, which powers of two have not."""
_EXPONENTIAL: Final = frozenset({np.exp, np.exp2, np.expm1})


class Value(np.ndarray[Any, Any]):
    """An array whose floating-point operations follow the arithmetic in force."""

    coarse: Any = None
    """The format to which the reference has cast it, where whoever uses its numbers sees them rounded."""
    spoken: Any = None
    """The format that its author knows it to have, where that is a narrow one: of an input, or behind a cast."""
    contracted: bool = False
    """It is a product of matrices."""
    product: reassociated.Product | None = None
    """What it is the product of, where the arithmetic asks for that."""
    weighed: Weight = Weight.NONE
    """By what elements of one are multiplied, each by its own."""
    alone: bool = False
    """It is a number to its author: what is added to it in place is another one."""

    def __array_finalize__(self, obj: Any) -> None:
        self.coarse = getattr(obj, "coarse", None)
        self.spoken = getattr(obj, "spoken", None)
        self.contracted = getattr(obj, "contracted", False)
        self.weighed = getattr(obj, "weighed", Weight.NONE)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """Float32 to the reference's author, or a narrow format, whatever the arithmetic."""
        return told(np.ndarray.dtype.__get__(self), 1, self.spoken)  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        in_force().single_numbers += isinstance(found, np.floating)
        return chosen(found) if is_choice(self, found, place) else found

    def tolist(self) -> Any:  # type: ignore[override]
        in_force().single_numbers += self.size
        return super().tolist()

    def diagonal(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        found = super().diagonal(*args, **options)
        return chosen(found) if is_part(self, found) else found

    def take(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        found = super().take(*args, **options)
        return chosen(found) if is_part(self, found) else found

    def __setitem__(self, place: Any, numbers: Any) -> None:
        super().__setitem__(place, as_stored(numbers))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        how = in_force()
        if ufunc is not np.matmul:
            return self._computed(ufunc, method, inputs, out, options)
        how.chains = how.chains or reassociated.is_chained(inputs)
        if out or not how.reassociates:
            return self._computed(ufunc, method, inputs, out, options)
        otherwise = reassociated.multiplied(*inputs)
        if otherwise is not None:
            return otherwise
        result = self._computed(ufunc, method, inputs, out, options)
        if isinstance(result, Value):
            result.product = reassociated.taken_down(inputs[0], inputs[1], result)
        return result

    def _computed(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: Any, options: dict[str, Any]
    ) -> Any:
        """In the arithmetic in force."""
        how = in_force()
        shared = common(inputs)
        given = inputs if shared is None else [rounded_to(value, shared) for value in inputs]
        operands = [_operand(value if isinstance(value, Value) else own(value, how), how) for value in given]
        options = {key: np.asarray(o) if isinstance(o, Value) else o for key, o in options.items()}
        asked = options.pop("dtype", None) if floating(operands) else None
        how.decides = how.decides or (ufunc in DECIDING and floating(operands))
        how.rounds = how.rounds or (ufunc in ROUNDING and floating(operands))
        how.contends = how.contends or (ufunc in _EXPONENTIAL and how.matmul_flops > 0)
        note(ufunc, operands)
        if how.recording is not None and method == "at":
            how.recording.before(ufunc, operands)
        where = options.pop("where", True) if method == "__call__" else True
        result = _by_itself(_apply(how, ufunc, method, operands, options), ufunc, method, inputs, options)
        if method == "at":
            return _store(inputs[0], operands[0])
        targets = out or (None,) * ufunc.nout
        if isinstance(result, tuple):
            parts: tuple[Any, ...] = result  # pyright: ignore[reportUnknownVariableType]
            return tuple(_store(to, _settled(part, how), where) for to, part in zip(targets, parts, strict=True))
        settled = _flushed(_noisy(_settled(result, how), ufunc, operands, how), how)
        if shared is not None and asked is None:
            settled = _of_format(settled, shared)
        if how.recording is not None:
            settled = _settled(how.recording.see(ufunc, method, operands, options.get("axis", 0), settled), how)
        if how.sides is not None and ufunc not in sides.ASKING_WHAT_NO_INPUT_IS:
            for condition in (settled, *operands):
                sides.note(how.sides, condition)
        stored = _store(targets[0], settled, where)
        if stored is settled:
            stored.alone = stored.ndim == 0
        if isinstance(stored, Value):
            stored.contracted, stored.weighed = descent(ufunc, method, inputs)
        return stored

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if (met := in_force().sides) is not None and func is np.where:
            sides.note(met, args[0])
        in_force().decides |= func in _CHOOSING
        in_force().rounds |= func in _ROUNDING_TOO
        args = edges_in_force(func, args)
        shared = None if "dtype" in kwargs else common(arrays_of(args))
        args, kwargs = all_as_stored(args), all_as_stored(kwargs)
        if func in _OTHERWISE:
            return _of_format(_OTHERWISE[func](*args, **kwargs), shared)
        return _of_format(kept_in_force(super().__array_function__(func, types, args, kwargs)), shared)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        """Casts between floating formats do nothing, for the format is the arithmetic's; but for those to fewer bits
        than the problem declares, which round."""
        if self.coarse is not None:
            return as_stored(self).astype(dtype, *args, **options)
        if is_float(dtype) and self.dtype.kind == "f":
            return self.copy().known_as(dtype)
        if is_float(dtype):
            return np.asarray(self).astype(in_force().dtype).view(Value)
        if np.dtype(dtype).kind == "c":
            return np.asarray(self).astype(complex_of(in_force().dtype)).view(Value)
        in_force().decides |= self.dtype.kind == "f"
        in_force().rounds |= self.dtype.kind == "f" and np.dtype(dtype).kind in "iu"
        return super().astype(dtype, *args, **options)

    def known_as(self, dtype: Any) -> Value:
        """Itself, as of another format."""
        self.coarse, self.spoken = coarse(dtype), narrow(dtype)
        return self

    def view(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        asked: Any = args[0] if args else options.get("dtype")
        if asked is None or (isinstance(asked, type) and issubclass(cast("type[Any]", asked), np.ndarray)):
            return cast("Any", super().view(*args, **options))
        kinds = "".join(sorted(self.dtype.kind + np.dtype(asked).kind))
        return bits(self, asked) if kinds in ("fi", "fu") else seen_as(self, asked)

    def argmax(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        in_force().decides |= self.dtype.kind == "f"
        return np.asarray(as_stored(self)).argmax(*args, **options)

    def argmin(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        in_force().decides |= self.dtype.kind == "f"
        return np.asarray(as_stored(self)).argmin(*args, **options)

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Any:  # type: ignore[override]
        in_force().decides = True
        edges, *_ = edges_in_force(np.searchsorted, (as_stored(self),))
        return np.asarray(edges).searchsorted(np.asarray(as_stored(v)), side, sorter)

    def dot(self, other: Any, out: Any = None) -> Any:  # type: ignore[override]
        return _stored_dot(as_stored(self), as_stored(other), out)

    def mean(self, axis: Any = None, dtype: Any = None, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        if self.coarse is None:
            plain = dtype is None and not args and not options.keys() - {"keepdims"}
            if plain and (shares := weighed(np.asarray(self), axis, in_force())) is not None:
                return shares.view(Value).sum(axis, **options)
            return super().mean(axis, dtype, *args, **options)
        return _of_format(as_stored(self).mean(axis, None, *args, **options), self.coarse if dtype is None else dtype)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return argsort(as_stored(self), axis, kind, **options)

    def argpartition(self, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:  # type: ignore[override]
        return argpartition(as_stored(self), kth, axis)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:  # type: ignore[override]
        return _cumsum(as_stored(self), axis, dtype, out)


def value(array: Any, how: Arithmetic) -> Any:
    """An argument of the reference as the arithmetic sees it; of integers what is made of them. Python scalars stay."""
    if is_array(array) and is_float(array.dtype):
        given: Value = np.ascontiguousarray(array).astype(how.dtype).view(Value)
        given.spoken = narrow(array.dtype)
        return given
    return array.view(Value) if is_array(array) and array.dtype.kind in "iu" else array


def _operand(value: Any, how: Arithmetic) -> Any:
    if is_array(value):
        plain: Array = np.asarray(as_stored(value))
        return plain.astype(how.dtype, copy=False) if is_float(plain.dtype) else plain
    if isinstance(value, np.floating):
        return float(cast("Any", value))
    return value


def kept_in_force(result: Any) -> Any:
    """What NumPy made a plain array of, as ``where``, ``tril`` and ``pad`` do: what follows is computed as before."""
    if type(result) is list:
        return [kept_in_force(item) for item in cast("list[Any]", result)]
    if not is_array(result) or isinstance(result, Value) or result.dtype.kind != "f":
        return result
    return _settled(result, in_force())


def _of_format(result: Any, dtype: Any) -> Any:
    known = dtype is not None and isinstance(result, Value) and result.dtype.kind == "f"
    return result.known_as(dtype) if known else result


def _settled(result: Any, how: Arithmetic) -> Any:
    array = np.asarray(result)
    if array.dtype.kind in "fc":
        array = array.astype(how.dtype if array.dtype.kind == "f" else complex_of(how.dtype), copy=False)
    return array.view(Value)


def _noisy(result: Any, ufunc: np.ufunc, operands: Sequence[Any], how: Arithmetic) -> Any:
    """By a power of two every engine divides exactly."""
    plain: Array = result.view(np.ndarray)
    if not how.noise or how.rng is None or ufunc not in NOISY or plain.dtype.kind not in "fc":
        return result
    if plain.dtype.kind == "c":
        for part in (plain.real, plain.imag):
            part *= 1.0 + how.errors(how.noise, part)
        return result
    off = 1.0 + how.errors(how.noise, plain)
    if ufunc is np.divide:
        off = np.where(_is_power_of_two(operands[1]), 1.0, off)
    return np.asarray(plain * off).astype(how.dtype, copy=False).view(Value)


def _is_power_of_two(numbers: Any) -> Array:
    """Of floats by their bits, where zero and infinity are taken for one: no error changes what they divide."""
    given: Array = np.asarray(numbers)
    if given.dtype in _FRACTION:
        return np.asarray(given, order="C").view(f"u{given.dtype.itemsize}") & _FRACTION[given.dtype] == 0
    return np.abs(np.frexp(given)[0]) == 0.5


def _flushed(result: Any, how: Arithmetic) -> Any:
    plain: Array = result.view(np.ndarray)
    if not how.flushes or plain.dtype.kind != "f":
        return result
    return np.where(np.abs(plain) < _SMALLEST, 0.0, plain).astype(how.dtype).view(Value)


def _store(target: Any, result: Any, where: Any = True) -> Any:
    """Where a mask says so; without a target, what it leaves out is no number, as NumPy leaves it unwritten."""
    if where is True and (target is None or getattr(target, "alone", False)):
        return result
    if target is None:
        kind, shape = np.asarray(result).dtype, np.broadcast_shapes(result.shape, np.shape(where))
        target = np.full(shape, np.nan if kind.kind in "fc" else 0, kind).view(Value)
    np.copyto(target.view(np.ndarray), result.view(np.ndarray), casting="unsafe", where=np.asarray(where))
    return target


def _apply(how: Arithmetic, ufunc: np.ufunc, method: str, operands: list[Any], options: dict[str, Any]) -> Any:
    if ufunc is np.matmul:
        return keep(matmul(operands[0], operands[1], how), how)
    folded = ufunc in (np.add, np.multiply) and method == "reduce" and floating(operands)
    if folded and (where := options.pop("where", True)) is not True:
        operands = [np.where(where, operands[0], ufunc.identity), *operands[1:]]
    if folded and how.order not in ("plain", "pairwise"):
        result = fold(ufunc, operands[0], options.get("axis", 0), bool(options.get("keepdims")), how)
        initial = options.get("initial")
        return result if not isinstance(initial, (int, float)) else ufunc(result, how.dtype(initial))
    if ufunc is np.add and method == "accumulate" and floating(operands):
        how.vector_flops += float(np.size(operands[0]))
        how.running = True
        return keep(partial_sums(operands[0], options.get("axis", 0), how.order, SLAB), how)
    if method in ("at", "reduceat"):
        return _by_index(how, ufunc, method, operands, options)
    if ufunc in _OF_A_FORMAT:
        how.decides = how.rounds = True
        operands = [one.astype(np.float32) if is_array(one) else one for one in operands]
    result = getattr(ufunc, method)(*operands, **options)
    if folded and how.rounding:
        passed = on_the_way(operands[0], options) if ufunc is np.add else in_many_steps(operands[0], result)
        result = keep(result, how, passed)
    elif how.throughout and method == "__call__" and is_array(result):
        result = keep(result, how, lost=lost(ufunc, operands, result))
    if floating(operands):
        biggest = max(np.size(o) for o in operands)
        how.vector_flops += float(biggest if method != "__call__" else np.size(result))
    return result


def _by_itself(result: Any, ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A sum that weighs elements of a product, or is one of these."""
    if not is_weighed(ufunc, method, inputs, result, options.get("axis", 0)):
        return result
    return chosen(np.asarray(result), weighed=True)


def _by_index(how: Arithmetic, ufunc: np.ufunc, method: str, operands: list[Any], options: dict[str, Any]) -> Any:
    if method == "at":
        return _at(how, ufunc, operands)
    if ufunc in (np.add, np.multiply) and floating(operands[:1]):
        return _by_parts(ufunc, operands[0], operands[1], options.get("axis", 0))
    return ufunc.reduceat(*operands, **options)


def _at(how: Arithmetic, ufunc: np.ufunc, operands: list[Any]) -> None:
    """In place, in the arithmetic's order; what was added up is kept as a sum is."""
    target, *rest = operands
    before: Array = target.copy()
    ufunc.at(*(operands if how.order == "plain" else _backwards(operands)))
    if ufunc in (np.add, np.subtract) and floating([target]) and len(rest) == 2:
        target[...] = kept_where(target, before, rest[0], rest[1], how)


def _by_parts(ufunc: np.ufunc, array: Array, starts: Any, axis: int) -> Array:
    """Each part as any other sum or product; of one that ends before it begins, its first element."""
    rows = np.moveaxis(array, axis, 0).view(Value)
    ends = [*starts[1:], len(rows)]
    parts = [ufunc.reduce(rows[start : max(end, start + 1)], axis=0) for start, end in zip(starts, ends, strict=True)]
    return np.moveaxis(np.array([np.asarray(part) for part in parts]), 0, axis)


def _backwards(operands: list[Any]) -> list[Any]:
    """The last of what an index names comes first, as far as there is one for each."""
    target, *rest = operands
    whole = len(rest) == 2 and all(is_array(one) and one.ndim for one in rest) and len(rest[0]) == len(rest[1])
    return [target, *(one[::-1] for one in rest)] if whole else operands


def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    a = np.asanyarray(a) if axis is not None else np.asanyarray(a).ravel()
    if a.dtype.kind == "f":
        result = np.add.accumulate(a.view(Value), axis=0 if axis is None else axis)
    else:
        result = np.cumsum(np.asarray(a), axis=axis, dtype=dtype).view(Value)
    return result if out is None else _store(out, result)


def _stored_dot(a: Any, b: Any, out: Any = None) -> Any:
    result = dot(a, b)
    return result if out is None else _store(out, result)


def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """With weights, sums in the arithmetic's order, as of any other elements."""
    places = np.asarray(x)
    if weights is None:
        return np.bincount(places, minlength=minlength)
    of, sums = np.asanyarray(weights).view(Value), np.zeros(max(minlength, int(places.max(initial=-1)) + 1))
    for place in np.unique(places):
        sums[place] = of[places == place].sum()
    return _settled(sums, in_force())


def _settled_einsum(*operands: Any, out: Any = None, **_options: Any) -> Any:
    return _store(out, _settled(einsum(*operands), in_force()))


_CHOOSING: Final = frozenset({
    np.argmax, np.argmin, np.argsort, np.argpartition, np.searchsorted, np.digitize, np.round, np.around, np.partition,
    np.lexsort, np.histogram, np.histogram2d, np.histogramdd, np.unique, np.isin,
})  # fmt: skip
_ROUNDING_TOO: Final = frozenset({np.round, np.around, np.fix, np.digitize})
_OTHERWISE: Final[dict[Any, Callable[..., Any]]] = {
    np.dot: _stored_dot,
    np.tensordot: tensordot,
    np.einsum: _settled_einsum,
    np.inner: inner,
    np.vdot: vdot,
    np.cumsum: _cumsum,
    np.bincount: _bincount,
    np.argsort: argsort,
    np.argpartition: argpartition,
}
