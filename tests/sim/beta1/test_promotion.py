"""Results are of the dtype that Beta 1's page on type promotion gives them, numbers of the text included."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.sim.beta1.promotion import promoted

TABLE = {
    ("int32", "float16"): "float16",
    ("uint16", "tfloat32"): "tfloat32",
    ("float32", "tfloat32"): "float32",
    ("float32", "bfloat16"): "float32",
    ("float16", "bfloat16"): "float32",
    ("float8_e4m3", "float16"): "float16",
    ("float8_e4m3", "bfloat16"): "bfloat16",
    ("float8_e4m3", "float8_e5m2"): "bfloat16",
    ("int16", "int32"): "int32",
    ("uint8", "uint16"): "uint16",
    ("uint16", "int32"): "int32",
    ("int8", "uint8"): "int16",
    ("int8", "uint16"): "int32",
    ("int32", "uint32"): "float32",
    ("bfloat16", "bfloat16"): "bfloat16",
    ("bool_", "bool_"): "bool",
}


def of(name: str) -> Any:
    return SimpleNamespace(dtype=name)


@pytest.mark.parametrize(("formats", "result"), TABLE.items())
def test_two_tiles_have_the_result_that_the_page_names_in_either_order(formats: tuple[str, str], result: str) -> None:
    first, second = map(of, formats)
    assert promoted((first, second)) == promoted((second, first)) == result


@pytest.mark.parametrize(
    ("tile", "number", "result"),
    [
        ("int8", 2, "int32"),
        ("float16", 1.2, "float32"),
        ("bfloat16", 1.2, "float32"),
        ("float16", 2, "float16"),
        ("int32", 0.5, "float32"),
        ("uint8", True, "uint8"),
        ("float16", np.float16(2), "float16"),
        ("int8", np.int8(2), "int8"),
        ("bfloat16", np.float64(2), "float32"),
    ],
)
def test_a_number_without_a_dtype_is_the_widest_of_its_kind(tile: str, number: Any, result: str) -> None:
    assert promoted((of(tile), number)) == promoted((number, of(tile))) == result


def test_halves_of_integers_and_their_means_are_kept_and_a_negative_stays_what_it_was(beta1: Any) -> None:
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        tile = nl.load(x)
        found = [nl.multiply(tile, 0.5), nl.mean(tile, axis=1), -tile, nl.where(tile > 2, 0.5, tile)]
        outs = [nl.ndarray(one.shape, dtype=one.dtype, buffer=nl.shared_hbm) for one in found]
        for out, one in zip(outs, found, strict=True):
            nl.store(out, one)
        return tuple(outs)

    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    halves, means, negative, chosen = kernel(x)
    assert (halves == x / 2).all()
    assert (means == x.mean(axis=1, keepdims=True)).all()
    assert negative.dtype == np.int32
    assert (negative == -x).all()
    assert (chosen == np.where(x > 2, 0.5, x)).all()


def test_a_product_of_bfloat16_and_a_number_is_not_rounded(beta1: Any) -> None:
    nl = beta1.nl

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x) * 1.1)
        return out

    x = np.ones((2, 4), ml_dtypes.bfloat16)
    assert (kernel(x) == np.float32(1.1)).all()


def test_comparisons_leave_booleans_unless_they_are_told_otherwise_and_instructions_what_they_compare(
    beta1: Any,
) -> None:
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        tile, row = nl.load(x), nl.load(x[:, 0:1])
        assert (tile > 1).dtype == nl.logical_not(tile).dtype == nl.all(tile, axis=1).dtype == np.bool_
        assert nl.less(tile, 1, dtype=nl.bfloat16).dtype == nl.bfloat16
        assert nisa.tensor_tensor(tile, row, op=nl.less).dtype == x.dtype
        out = nl.ndarray((2, 1), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.sum(tile > 1, axis=1, dtype=nl.float32))
        return out

    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert (kernel(x) == (x > 1).sum(axis=1, keepdims=True)).all()
