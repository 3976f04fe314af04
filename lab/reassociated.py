"""Products of products of matrices with the other pair of parentheses: (a x) w for a (x w).

A kernel multiplies first what makes fewer columns, or what stays the same from call to call: weights that attention
absorbs, a graph's layer whose projection is narrow. It errs as much as the reference, elsewhere.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final, NamedTuple, cast

import numpy as np

from nki_anvil.lab.arithmetic import Array, is_array

MOST: Final = 2.0**29
"""Multiplications and additions of a product that the reference does not make, above which it is not made either."""


class Product(NamedTuple):
    """Stacks of matrices [stack, rows, k] and [stack, k, columns], and what they came to, in its own shape.

    All are copies, for the reference may write over any of them.
    """

    left: Array
    right: Array
    came_to: Array


def taken_down(left: Any, right: Any, result: Any) -> Product | None:
    """A product that may be a factor of another one; None where one of the factors is a vector."""
    if min(np.ndim(left), np.ndim(right)) < 2:
        return None
    stack = np.shape(result)[:-2]
    one, other = (
        np.broadcast_to(np.asarray(of), (*stack, *np.shape(of)[-2:])).reshape(-1, *np.shape(of)[-2:]).copy()
        for of in (left, right)
    )
    return Product(one, other, np.array(np.asarray(result)))


def multiplied(left: Any, right: Any) -> Any:
    """The product of two operands of which one is a product itself: each of its factors with the other in turn.

    None where neither is, or where that were too much work.
    """
    if min(np.ndim(left), np.ndim(right)) < 2:
        return None
    if (of := _factors(right)) is not None and _work(left, of[0]) <= MOST:
        return np.matmul(_bare(np.matmul(left, of[0])), of[1])
    if (of := _factors(left)) is not None and _work(of[1], right) <= MOST:
        return np.matmul(of[0], _bare(np.matmul(of[1], right)))
    return None


def _bare(product: Any) -> Any:
    """Which is not taken apart again."""
    product.product = None
    return product


def _work(left: Any, right: Any) -> float:
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    return 2.0 * prod(stack) * prod(left.shape[-2:]) * right.shape[-1]


def _factors(operand: Any) -> tuple[Any, Any] | None:
    """The matrices whose product an operand is, or the transpose or a part of which it is, as by heads; else None."""
    for whole in (operand, getattr(operand, "base", None)):
        product: Product | None = getattr(whole, "product", None)
        if product is not None and np.array_equal(np.asarray(whole), product.came_to):
            of = _of_places(product, _places(np.asarray(operand), np.asarray(whole)))
            kind = cast("Any", type(operand))
            return of and (of[0].view(kind), of[1].view(kind))
    return None


def _places(view: Array, whole: Array) -> Array:
    """For each element of a view which element of a whole array it is, numbered row by row; of another whole, none."""
    if not whole.flags.c_contiguous:
        return np.zeros(0, np.int64)
    ahead = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    places: Array = np.full(view.shape, ahead // whole.itemsize)
    for axis, (length, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        along: Array = cast("Any", np).arange(length) * (stride // whole.itemsize)
        places += along.reshape([-1 if at == axis else 1 for at in range(view.ndim)])
    return places


def _of_places(product: Product, places: Array) -> tuple[Array, Array] | None:
    """The rows and the columns of both factors that make matrices of such places, or the transposes of such."""
    if not places.size:
        return None
    if (of := _as_they_lie(product, places)) is not None:
        return of
    of = _as_they_lie(product, places.swapaxes(-1, -2))
    return of and (of[1].swapaxes(-1, -2), of[0].swapaxes(-1, -2))


def _as_they_lie(product: Product, places: Array) -> tuple[Array, Array] | None:
    height, width = product.came_to.shape[-2:]
    stack, rows, columns = places // (height * width), places // width % height, places % width
    whole = (stack == stack[..., :1, :1]).all(), (rows == rows[..., :1]).all(), (columns == columns[..., :1, :]).all()
    if not all(whole):
        return None
    of = stack[..., :1, 0]
    return product.left[of, rows[..., 0]], product.right[of, :, columns[..., 0, :]].swapaxes(-1, -2)


def is_chained(operands: tuple[Any, ...]) -> bool:
    """Whether an operand of a product of matrices is one itself, or a part of one."""
    wholes = (whole for one in operands if is_array(one) for whole in (one, one.base))
    return any(getattr(whole, "contracted", False) for whole in wholes)
