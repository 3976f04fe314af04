"""Shapes that the text of a Beta 1 kernel says of its tiles are the shapes that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.errors import TraceError

X = np.ones((128, 64), np.float32)


@pytest.mark.parametrize("width", [64, 512])
def test_a_tile_has_the_shape_that_its_annotation_says(beta1: Any, width: int):
    nl, tensor = beta1.nl, Any

    @beta1.nki.jit
    def kernel(x, width):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile: tensor[128, width] = nl.exp(nl.load(x))  # pyright: ignore
        nl.store(out, tile)
        return out

    if width == 64:
        np.testing.assert_allclose(kernel(X, width), np.exp(X), rtol=1e-6)
        return
    with pytest.raises(TraceError) as caught:
        kernel(X, width)
    assert caught.value.code == "NKI-SHAPE"
    assert "`tile` has the shape (128, 64)" in caught.value.message
    assert "(128, 512)" in caught.value.message


def test_a_name_that_is_bound_again_and_sizes_that_are_computed_say_nothing(beta1: Any):
    nl, tensor = beta1.nl, Any

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        count: int = 2
        tile: tensor[1, 2] = nl.load(x)  # pyright: ignore
        tile = nl.multiply(tile, float(count))
        other: tensor[128, 32 * 3] = nl.load(x)  # pyright: ignore
        nl.store(out, nl.add(tile, other))
        return out

    np.testing.assert_allclose(kernel(X), 3 * X, rtol=1e-6)
