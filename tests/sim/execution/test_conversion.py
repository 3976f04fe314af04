"""What lies in memory as float32 and holds fewer bits, loses them as soon as it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program_builder import ProgramBuilder, View

from nki_anvil.sim.execution import Executable
from nki_anvil.sim.execution.conversion import shorten
from nki_anvil.sim.execution.formats import CHIP, EXACT, Formats

LONG = np.array([[1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, -(1 + 2**-12)]], np.float32)
SHORT = [[1 + 2**-10, 1.0, 1 + 2**-9, -1.0]]


def test_tfloat32_keeps_ten_bits() -> None:
    values = np.append(LONG, np.array([np.inf, np.nan], np.float32))
    out = np.empty_like(values)
    shorten(values, out)
    assert out[:5].tolist() == [*SHORT[0], np.inf]
    assert np.isnan(out[5])


def source(b: ProgramBuilder) -> View:
    tile = b.tensor(LONG.shape)
    b.emit("dma_copy", tile, b.input(LONG.shape))
    return tile


def copied(b: ProgramBuilder, tile: View) -> None:
    b.emit("tensor_copy", tile, source(b))


def computed(b: ProgramBuilder, tile: View) -> None:
    b.emit("tensor_scalar", tile, source(b), op0="multiply", value0=1.0)


def computed_in_parts(b: ProgramBuilder, tile: View) -> None:
    whole = source(b)
    for half in (slice(0, 2), slice(2, 4)):
        b.emit("tensor_scalar", tile[:, half], whole[:, half], op0="multiply", value0=1.0)


def loaded(b: ProgramBuilder, tile: View) -> None:
    b.emit("dma_copy", tile, b.input(LONG.shape))


@pytest.mark.parametrize("fill", [copied, computed, computed_in_parts, loaded])
@pytest.mark.parametrize(("formats", "held"), [(CHIP, SHORT), (EXACT, LONG.tolist())])
def test_a_tile_of_tfloat32_holds_ten_bits_but_in_float64(fill: Any, formats: Formats, held: Any) -> None:
    b = ProgramBuilder()
    tile = b.tensor(LONG.shape, "tfloat32")
    fill(b, tile)
    b.emit("dma_copy", b.result(LONG.shape), tile)
    assert Executable(b.program(), formats=formats).run((LONG,)).outputs[0].tolist() == held
