"""Other arithmetic for the same reference: exact in float64, or float32 in another order and with engine noise.

A NumPy reference is run on ``Value`` arrays, a subclass whose operations follow the ``Arithmetic`` in force; the
module's ``numpy`` is replaced by ``Numbers``, so that buffers which it makes follow too. It knows no problem, no limit.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeGuard, cast

import numpy as np

from nki_anvil.lab.partial_sums import partial_sums

Order = Literal["plain", "sequential", "reversed", "slabs"]
Array = np.ndarray[Any, Any]

SLAB: Final = 128
"""Rows of the tensor engine: what it sums in one pass."""
SIDE_BY_SIDE: Final = 4096
"""From so many rows on whose elements lie apart, adding them place by place is faster than running sums of each."""

NOISY: Final = frozenset({
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.tanh, np.sinh, np.cosh, np.sin,
    np.cos, np.tan, np.arctan, np.arctan2, np.power, np.float_power, np.divide, np.reciprocal, np.hypot,
})  # fmt: skip
"""Functions that an engine approximates."""

DECIDING: Final = frozenset({
    np.rint, np.floor, np.ceil, np.trunc, np.sign, np.floor_divide, np.remainder, np.greater, np.greater_equal,
    np.less, np.less_equal, np.equal, np.not_equal,
})  # fmt: skip
"""What makes a step of a number."""

_MIXER: Final = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: an odd number whose products spread their bits."""


def is_array(item: object) -> TypeGuard[Array]:
    return isinstance(item, np.ndarray)


@dataclass(slots=True)
class Arithmetic:
    """How to compute. ``noise`` is the largest relative error of an approximated function; work is counted."""

    dtype: Any = np.float32
    order: Order = "plain"
    noise: float = 0.0
    rng: np.random.Generator | None = None
    rounding: float = 0.0
    """The largest relative error with which a product of matrices or a sum is kept, for runs in a wider format."""
    throughout: bool = False
    """So is every result, but only where float32 cannot hold it: what is exact there stays exact."""
    mirrored: bool = False
    """All errors that are drawn have the other sign."""
    consistent: bool = False
    """Equal results of a function, or of an operation, are off by the same: equals stay equal."""
    operand: Callable[[Array], Array] | None = None
    """What the tensor engine does to its operands before it multiplies (tfloat32)."""
    fast_slabs: bool = False
    """Sum inside a slab with BLAS, for large shapes."""
    turned: bool = False
    """What a sort leaves open comes the other way round, as in every run whose order is not the plain one."""
    matmul_flops: float = field(default=0.0, init=False)
    vector_flops: float = field(default=0.0, init=False)
    running: bool = field(default=False, init=False)
    """It has added up all beginnings of an axis, whose errors hang together."""
    _salt: int = field(default=0, init=False)
    leaves_open: bool = field(default=False, init=False)
    """It has sorted without an order of equals."""
    decides: bool = field(default=False, init=False)
    """It has rounded numbers, or compared them: a rounding more or less may decide otherwise."""

    def errors(self, bound: float, exact: Array) -> Array:
        """Relative errors of results, each drawn evenly between plus and minus the bound."""
        if not self.consistent:
            return self.lots(bound, np.shape(exact))
        self._salt = self._salt or int(cast("Any", self.rng).integers(1, 2**63)) | 1
        bits = np.ascontiguousarray(exact, np.float64).view(np.uint64) * np.uint64(self._salt)
        mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(_MIXER)
        share = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
        return (-bound if self.mirrored else bound) * share.reshape(np.shape(exact))

    def lots(self, bound: float, shape: tuple[int, ...]) -> Array:
        """Errors, each drawn evenly between plus and minus the bound."""
        drawn = cast("Any", self.rng).uniform(-bound, bound, shape)
        return -drawn if self.mirrored else drawn


_in_force: list[Arithmetic] = [Arithmetic()]


@contextmanager
def computing(arithmetic: Arithmetic) -> Generator[Arithmetic]:
    """Everything done to ``Value`` arrays inside follows ``arithmetic``; not for use by two threads at once."""
    _in_force.append(arithmetic)
    try:
        with np.errstate(all="ignore"):
            yield arithmetic
    finally:
        _in_force.pop()


class Value(np.ndarray[Any, Any]):
    """An array whose floating-point operations follow the arithmetic in force."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        how = _in_force[-1]
        operands = [_operand(value, how) for value in inputs]
        options = {key: np.asarray(o) if isinstance(o, Value) else o for key, o in options.items()}
        if _floating(operands):
            options.pop("dtype", None)
        how.decides = how.decides or (ufunc in DECIDING and _floating(operands))
        result = _apply(how, ufunc, method, operands, options)
        if isinstance(result, tuple):
            parts: tuple[Any, ...] = result  # pyright: ignore[reportUnknownVariableType]
            return tuple(_settled(part, how) for part in parts)
        settled = _noisy(_settled(result, how), ufunc, how)
        return settled if out is None else _store(out[0], settled)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        _in_force[-1].decides |= func in _CHOOSING
        if func in _OTHERWISE:
            return _OTHERWISE[func](*args, **kwargs)
        return _kept_in_force(super().__array_function__(func, types, args, kwargs))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        """Casts between floating formats do nothing: the format is the arithmetic's."""
        if _is_float(dtype) and self.dtype.kind == "f":
            return self.copy()
        if _is_float(dtype):
            return np.asarray(self).astype(_in_force[-1].dtype).view(Value)
        _in_force[-1].decides |= self.dtype.kind == "f"
        return super().astype(dtype, *args, **options)

    def dot(self, other: Any, out: Any = None) -> Any:  # type: ignore[override]
        return _dot(self, other, out)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return _argsort(self, axis, kind, **options)

    def argpartition(self, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:  # type: ignore[override]
        return _argpartition(self, kth, axis)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:  # type: ignore[override]
        return _cumsum(self, axis, dtype, out)


def value(array: Any, how: Arithmetic) -> Any:
    """An argument of the reference as the arithmetic sees it; integers and Python scalars stay."""
    if is_array(array) and _is_float(array.dtype):
        return np.ascontiguousarray(array).astype(how.dtype).view(Value)
    return array


def _is_float(dtype: Any) -> bool:
    """True for every floating format, those of ml_dtypes included (their kind is V)."""
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        return False
    return resolved.kind == "f" or (resolved.kind == "V" and "float" in resolved.name)


def _operand(value: Any, how: Arithmetic) -> Any:
    if is_array(value):
        plain: Array = np.asarray(value)
        return plain.astype(how.dtype, copy=False) if _is_float(plain.dtype) else plain
    if isinstance(value, np.floating):
        return float(cast("Any", value))
    return value


def _kept_in_force(result: Any) -> Any:
    """What NumPy made a plain array of, as ``where``, ``tril`` and ``pad`` do: what follows is computed as before."""
    if type(result) is list:
        return [_kept_in_force(item) for item in cast("list[Any]", result)]
    if not is_array(result) or isinstance(result, Value) or result.dtype.kind != "f":
        return result
    return _settled(result, _in_force[-1])


def _floating(operands: Sequence[Any]) -> bool:
    return any(is_array(o) and o.dtype.kind == "f" for o in operands)


def _settled(result: Any, how: Arithmetic) -> Any:
    array = np.asarray(result)
    if array.dtype.kind == "f" and array.dtype != how.dtype:
        array = array.astype(how.dtype)
    return array.view(Value)


def _noisy(result: Any, ufunc: np.ufunc, how: Arithmetic) -> Any:
    if not how.noise or how.rng is None or ufunc not in NOISY or result.dtype.kind != "f":
        return result
    plain: Array = result.view(np.ndarray)
    return (plain * (1.0 + how.errors(how.noise, plain))).astype(how.dtype).view(Value)


def _store(target: Any, result: Any) -> Any:
    if target is None:
        return result
    np.copyto(target.view(np.ndarray), result.view(np.ndarray), casting="unsafe")
    return target


def _apply(how: Arithmetic, ufunc: np.ufunc, method: str, operands: list[Any], options: dict[str, Any]) -> Any:
    if ufunc is np.matmul:
        return _kept(_matmul(operands[0], operands[1], how), how)
    folded = ufunc in (np.add, np.multiply) and method == "reduce" and options.get("where", True) is True
    if folded and how.order != "plain" and _floating(operands):
        result = _folded(ufunc, operands[0], options.get("axis", 0), bool(options.get("keepdims")), how)
        initial = options.get("initial")
        return result if not isinstance(initial, (int, float)) else ufunc(result, how.dtype(initial))
    if ufunc is np.add and method == "accumulate" and _floating(operands):
        how.vector_flops += float(np.size(operands[0]))
        how.running = True
        return _kept(partial_sums(operands[0], options.get("axis", 0), how.order, SLAB), how)
    result = getattr(ufunc, method)(*operands, **options)
    if folded and how.rounding:
        passed = _on_the_way(operands[0], options) if ufunc is np.add else _in_many_steps(operands[0], result)
        result = _kept(result, how, passed)
    elif how.throughout and method == "__call__" and is_array(result):
        result = _kept(result, how)
    if _floating(operands):
        biggest = max(np.size(o) for o in operands)
        how.vector_flops += float(biggest if method != "__call__" else np.size(result))
    return result


def _kept(result: Any, how: Arithmetic, passed: Any = 0.0) -> Any:
    """A contraction's result as a register of the format that the run stands for would keep it.

    ``passed`` is what it held on the way: where terms cancel, they were rounded at their own size.
    """
    if not how.rounding or how.rng is None or not _floating([result]):
        return result
    size = np.maximum(np.abs(result), passed)
    error = size * how.errors(how.rounding, np.asarray(result))
    if how.throughout:
        error = np.where(result == np.asarray(result, np.float32), 0.0, error)
    return result + error


def _on_the_way(array: Array, options: dict[str, Any]) -> Any:
    """The root of the sum of squares of a running sum's steps, were its terms' signs random; shaped like the sums.

    Each step is rounded at its own size, and after k terms of size s of any sign that is some s sqrt(k).
    """
    squares = np.square(array).sum(axis=options.get("axis", 0), keepdims=bool(options.get("keepdims")))
    return np.sqrt(squares * (array.size / max(1, np.size(squares)) / 2))


def _in_many_steps(array: Array, products: Any) -> Any:
    """The product as its many roundings leave it, each of which is relative to all of it: k of them, some sqrt(k)."""
    return np.abs(products) * np.sqrt(array.size / max(1, np.size(products)) / 2)


def _folded(ufunc: np.ufunc, array: Array, axis: Any, keepdims: bool, how: Arithmetic) -> Array:
    """A sum, or a product, over some axes in the order in force, in running float32 steps."""
    axes = tuple(range(array.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = tuple(a % array.ndim for a in axes)
    how.vector_flops += float(array.size)
    kept = [n for i, n in enumerate(array.shape) if i not in axes]
    flat = np.moveaxis(array, axes, range(-len(axes), 0)).reshape([*kept, -1])
    result = _running(ufunc, flat, how)
    return np.expand_dims(result, axes) if keepdims else result


def _running(ufunc: np.ufunc, rows: Array, how: Arithmetic) -> Array:
    if rows.shape[-1] == 0:
        return ufunc.reduce(rows, axis=-1)
    if how.order == "reversed":
        rows = rows[..., ::-1]
    if how.order in ("sequential", "reversed"):
        return _in_turn(ufunc, rows, how)
    slabs = [_in_turn(ufunc, rows[..., start : start + SLAB], how) for start in range(0, rows.shape[-1], SLAB)]
    return _in_turn(ufunc, np.stack(slabs, axis=-1), how) if len(slabs) > 1 else slabs[0]


def _in_turn(ufunc: np.ufunc, rows: Array, how: Arithmetic) -> Array:
    """Each row's elements taken in one after the other; many rows at once, without what they come to on the way."""
    if rows.size < SIDE_BY_SIDE * rows.shape[-1] or abs(rows.strides[-1]) == rows.itemsize:
        return ufunc.accumulate(rows, axis=-1, dtype=how.dtype)[..., -1]
    total = rows[..., 0].astype(how.dtype)
    for place in range(1, rows.shape[-1]):
        ufunc(total, rows[..., place], out=total)
    return total


def _matmul(a: Any, b: Any, how: Arithmetic) -> Array:
    """A matrix product in the order in force: BLAS, row after row, or slab after slab as the tensor engine does."""
    a, b = np.asarray(a), np.asarray(b)
    if not _floating([a, b]):
        return np.matmul(a, b)
    a, b = a.astype(how.dtype, copy=False), b.astype(how.dtype, copy=False)
    if how.operand is not None:
        a, b = how.operand(a), how.operand(b)
    if a.ndim == 1:
        return _matmul(a[None, :], b, how)[..., 0, :]
    if b.ndim == 1:
        return _matmul(a, b[:, None], how)[..., 0]
    lead = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    how.matmul_flops += 2.0 * lead * a.shape[-2] * a.shape[-1] * b.shape[-1]
    if how.order == "plain":
        return np.matmul(a, b)
    if how.order == "slabs" and how.fast_slabs:
        return _slab_products(a, b)
    return _outer_products(a, b, how)


def _slab_products(a: Array, b: Array) -> Array:
    total = np.matmul(a[..., :SLAB], b[..., :SLAB, :])
    for start in range(SLAB, a.shape[-1], SLAB):
        total += np.matmul(a[..., start : start + SLAB], b[..., start : start + SLAB, :])
    return total


def _outer_products(a: Array, b: Array, how: Arithmetic) -> Array:
    """One row of the contraction after the other; with slabs, a fresh sum for each slab."""
    length = a.shape[-1]
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    total, part, product = (np.zeros(shape, how.dtype) for _ in range(3))
    target = part if how.order == "slabs" else total
    columns = np.ascontiguousarray(np.moveaxis(a, -1, 0))[..., None]
    for step, k in enumerate(range(length) if how.order != "reversed" else range(length - 1, -1, -1)):
        np.multiply(columns[k], b[..., k, None, :], out=product)
        np.add(target, product, out=target)
        if how.order == "slabs" and (step % SLAB == SLAB - 1 or step == length - 1):
            np.add(total, part, out=total)
            part.fill(0)
    return total


def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    a = np.asanyarray(a) if axis is not None else np.asanyarray(a).ravel()
    if a.dtype.kind == "f":
        result = np.add.accumulate(a.view(Value), axis=0 if axis is None else axis)
    else:
        result = np.cumsum(np.asarray(a), axis=axis, dtype=dtype).view(Value)
    return result if out is None else _store(out, result)


def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> Array:
    """Equal elements come in their own order where that is asked for; else the first run has it, the others do not."""
    plain = np.asarray(a).ravel() if axis is None else np.asarray(a)
    along = -1 if axis is None else axis
    if stable or kind in ("stable", "mergesort") or not _turns():
        return np.argsort(plain, axis=along, kind="stable")
    turned = np.argsort(np.flip(plain, along), axis=along, kind="stable")
    return plain.shape[along] - 1 - turned


def _argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Array:
    """What lies before the element that is asked for, and what behind it, comes in no order."""
    plain = np.asarray(a).ravel() if axis is None else np.asarray(a)
    along = -1 if axis is None else axis
    found = np.argpartition(plain, kth, axis=along)
    if not _turns() or np.ndim(kth):
        return found
    middle = kth % plain.shape[along]
    before, at, behind = np.split(found, [middle, middle + 1], axis=along)
    return np.concatenate([np.flip(before, along), at, np.flip(behind, along)], axis=along)


def _turns() -> bool:
    """Whether what a sort leaves open comes the other way round; somebody asks."""
    _in_force[-1].leaves_open = True
    return _in_force[-1].turned or _in_force[-1].order != "plain"


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = np.asanyarray(a), np.asanyarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if b.ndim > 2:
        return np.tensordot(a, b, axes=([-1], [-2]))
    result = np.matmul(a, b)
    return result if out is None else _store(out, result)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = np.asanyarray(a), np.asanyarray(b)
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    left, right = [axis % a.ndim for axis in left], [axis % b.ndim for axis in right]
    a_free = [axis for axis in range(a.ndim) if axis not in left]
    b_free = [axis for axis in range(b.ndim) if axis not in right]
    depth = math.prod(a.shape[axis] for axis in left)
    flat_a = a.transpose(*a_free, *left).reshape(-1, depth)
    flat_b = b.transpose(*right, *b_free).reshape(depth, -1)
    return np.matmul(flat_a, flat_b).reshape([a.shape[i] for i in a_free] + [b.shape[i] for i in b_free])


def _einsum(subscripts: Any, *operands: Any, **_options: Any) -> Any:
    """Two operands without repeated letters become a matrix product; anything else is computed as NumPy does."""
    if not isinstance(subscripts, str) or len(operands) != 2 or "." in subscripts:
        return _plain_einsum(subscripts, *operands)
    text = subscripts.replace(" ", "")
    terms, _, result = text.partition("->")
    left, _, right = terms.partition(",")
    if "->" not in text:
        result = "".join(sorted(letter for letter in set(left + right) if (left + right).count(letter) == 1))
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        return _plain_einsum(subscripts, *operands)
    return _paired_einsum(left, right, result, operands[0], operands[1])


def _plain_einsum(subscripts: Any, *operands: Any) -> Any:
    plain = [np.asarray(o).view(np.ndarray) if is_array(o) else o for o in operands]
    return _settled(np.einsum(subscripts, *plain), _in_force[-1])


def _paired_einsum(left: str, right: str, result: str, a: Any, b: Any) -> Any:
    for letter in [c for c in left if c not in right + result]:
        a, left = a.sum(axis=left.index(letter)), left.replace(letter, "")
    for letter in [c for c in right if c not in left + result]:
        b, right = b.sum(axis=right.index(letter)), right.replace(letter, "")
    both = [c for c in left if c in right]
    batch, summed = [c for c in both if c in result], [c for c in both if c not in result]
    rows, columns = [c for c in left if c not in both], [c for c in right if c not in both]
    size: Mapping[str, int] = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}

    def flat(array: Any, letters: str, first: list[str], second: list[str]) -> Any:
        ordered = array.transpose([letters.index(c) for c in batch + first + second])
        return ordered.reshape([size[c] for c in batch] + [math.prod(size[c] for c in g) for g in (first, second)])

    product = np.matmul(flat(a, left, rows, summed), flat(b, right, summed, columns))
    letters = batch + rows + columns
    return product.reshape([size[c] for c in letters]).transpose([letters.index(c) for c in result])


def _inner(a: Any, b: Any) -> Any:
    return np.matmul(a, np.swapaxes(b, -1, -2) if np.ndim(b) > 1 else b)


_CHOOSING: Final = frozenset({
    np.argmax, np.argmin, np.argsort, np.argpartition, np.searchsorted, np.digitize, np.round, np.around, np.partition,
})  # fmt: skip
_OTHERWISE: Final[dict[Any, Callable[..., Any]]] = {
    np.dot: _dot,
    np.tensordot: _tensordot,
    np.einsum: _einsum,
    np.inner: _inner,
    np.cumsum: _cumsum,
    np.argsort: _argsort,
    np.argpartition: _argpartition,
}


_OPEN: Final[dict[str, Callable[..., Any]]] = {"argsort": _argsort, "argpartition": _argpartition}
"""What a reference may ask of arrays of integers, too."""


class Numbers(types.ModuleType):
    """``numpy`` as the reference module sees it: buffers that it makes hold ``Value`` arrays of the dtype in force."""

    def __init__(self) -> None:
        super().__init__("numpy")

    def __getattr__(self, name: str) -> Any:
        if name == "ndarray":
            return _Buffer
        if name in _OPEN:
            return _OPEN[name]
        found = getattr(np, name)
        return _maker(found) if name in _MAKERS else found


_MAKERS: Final = frozenset({
    "zeros", "ones", "empty", "full", "array", "asarray", "ascontiguousarray", "asanyarray", "arange",
    "linspace", "eye", "identity", "tri", "zeros_like", "ones_like", "empty_like", "full_like",
})  # fmt: skip


def _maker(make: Any) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        array = make(*args, **options)
        if is_array(array) and _is_float(array.dtype):
            return array if isinstance(array, Value) else array.astype(_in_force[-1].dtype).view(Value)
        return array

    return made


class _AnyArray(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, np.ndarray)


class _Buffer(metaclass=_AnyArray):
    """``np.ndarray`` for the reference module: a check of any array, a maker of ``Value`` arrays."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return _maker(np.ndarray)(*args, **options)
