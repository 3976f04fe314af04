"""``simulate`` follows the vendor's environment variables: which chip, and whether low precision is stored as such."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.sim import environment, isa, language
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.simulation import simulate

nisa: Any = isa
nl: Any = language
THIRD = np.full((4, 8), 1 / 3, np.float32)


@pytest.mark.parametrize(
    ("value", "chip"), [("", "trn2"), ("trn2", "trn2"), ("gen3", "trn2"), ("TRN1", "trn1"), ("inf2", "trn1")]
)
def test_the_target_is_named_as_the_vendor_names_it(value, chip):
    assert environment.target({environment.TARGET: value}) == chip


def test_a_target_that_is_not_simulated_is_refused():
    with pytest.raises(TraceError, match="trn9 is not simulated"):
        environment.target({environment.TARGET: "trn9"})


def test_simulate_reads_the_target(monkeypatch):
    seen = []

    def kernel(x):
        seen.append(nisa.get_nc_version().name)
        return x

    monkeypatch.setenv(environment.TARGET, "gen2")
    simulate(kernel, THIRD)
    simulate(kernel, THIRD, chip="trn2")
    assert seen == ["gen2", "gen3"]


def through_bfloat16(x):
    tile = nl.ndarray(x.shape, nl.bfloat16)
    nisa.dma_copy(tile, x)
    out = nl.ndarray(x.shape, nl.float32, nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def test_precision_is_lost_unless_the_environment_says_otherwise(monkeypatch):
    rounded = THIRD.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(simulate(through_bfloat16, THIRD), rounded)
    monkeypatch.setenv(environment.PRECISE, "0")
    assert np.array_equal(simulate(through_bfloat16, THIRD), THIRD)


def test_a_view_of_other_bytes_cannot_be_widened(monkeypatch):
    def kernel(x):
        tile = nl.ndarray(x.shape, nl.bfloat16)
        nisa.memset(tile.view(nl.uint16), 0)

    monkeypatch.setenv(environment.PRECISE, "0")
    with pytest.raises(NotSimulated, match="reinterprets"):
        simulate(kernel, THIRD)
