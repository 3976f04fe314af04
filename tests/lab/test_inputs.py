"""Cases are drawn from seed and family alone, and stay inside the declared domains."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nki_anvil.backends.worker import inputs, places

DOMAINS = ("real", "nonnegative", "positive", "unit", "probability")
FAMILIES = [f for f in inputs.family_names() if f != "exact20"]


MATMUL = {
    "inputs": [
        {"name": "a", "shape": [32, 64], "dtype": "float32"},
        {"name": "b", "shape": [64, 48], "dtype": "float32"},
    ]
}


def drawn(family: str, domain: str = "real", *, seed: int = 1, scale: float = 1.0, **spec: Any) -> np.ndarray:
    argument = {"name": "x", "shape": [40, 64], "dtype": "float32", "domain": domain, **spec}
    family = "leading//x//0" if family == "leading" else family  # it is of an input and a table
    return inputs.draw({"inputs": [argument]}, {"seed": seed, "family": family, "scale": scale})["x"]


@given(st.sampled_from(FAMILIES), st.sampled_from(DOMAINS), st.integers(1, 2**62))
@example("tiles", "probability", 39)
@settings(max_examples=80)
def test_every_family_stays_inside_its_domain_and_repeats(family: str, domain: str, seed: int) -> None:
    x = drawn(family, domain, seed=seed)
    assert x.dtype == np.float32
    assert np.isfinite(x).all()
    assert domain == "real" or (x >= 0).all()
    assert domain != "positive" or (x > 0).all()
    assert domain != "unit" or (x <= 1).all()
    assert domain != "probability" or np.allclose(x.sum(-1), 1, atol=1e-5)
    assert np.array_equal(x, drawn(family, domain, seed=seed))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_keeps_floats_that_ascend_within_their_domain(family: str, domain: str) -> None:
    x = drawn(family, domain, order="ascending")
    assert (x[:, 1:] >= x[:, :-1]).all()
    assert domain != "probability" or np.allclose(x.sum(-1), 1, atol=1e-5)
    assert domain != "unit" or (x <= 1).all()


def test_another_seed_or_family_gives_other_numbers() -> None:
    assert not np.array_equal(drawn("own"), drawn("own", seed=2))
    assert not np.array_equal(drawn("own"), drawn("uniform"))


def test_only_one_input_is_transformed_when_one_is_named() -> None:
    arguments = [{"name": n, "shape": [8, 16], "dtype": "float32"} for n in "ab"]
    own = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "own"})
    bent = inputs.draw({"inputs": arguments}, {"seed": 1, "family": "x100", "only": "b"})
    assert np.array_equal(own["a"], bent["a"])
    assert np.allclose(bent["b"], 100 * own["b"])


def test_cancelling_inputs_cancel_in_their_product() -> None:
    own = inputs.draw(MATMUL, {"seed": 1, "family": "own"})
    bent = inputs.draw(MATMUL, {"seed": 1, "family": "cancelling/64", "only": "a"})
    assert np.linalg.norm(bent["a"] @ bent["b"]) < 0.05 * np.linalg.norm(own["a"] @ own["b"])


def test_exact20_hits_every_contraction_index_and_sums_exactly_in_float32() -> None:
    x = inputs.draw(MATMUL, {"seed": 1, "family": "exact20/0", "only": "a"})
    assert (np.abs(x["b"]).sum(axis=0) == 8).all()
    assert x["b"].any(axis=1).all()
    assert (x["a"] % 2 != 0).all()
    exact = x["a"].astype(np.float64) @ x["b"].astype(np.float64)
    assert np.array_equal((x["a"] @ x["b"]).astype(np.float64), exact)
    assert np.abs(x["a"]).max() > 2**19


def test_shifted_rows_stay_within_the_declared_offset() -> None:
    assert np.abs(drawn("shifted", offset=3.0).mean(-1)).max() < 3.6
    assert np.abs(drawn("shifted", offset=500.0).mean(-1)).max() > 10


def test_rows_zeros_spikes_and_ties_look_as_their_names_say() -> None:
    assert (drawn("zeros") == 0).all(-1).any()
    norms = np.linalg.norm(drawn("rows"), axis=-1)
    assert norms.max() / norms.min() > 1e3
    ties = drawn("ties")
    assert max(len(np.unique(row)) for row in ties) <= 10
    for bits in (0, 3):
        assert (ties * 2**bits % 1 == 0.5).any(), "half-way between two multiples of a power of two"
    changed = drawn("spike") != drawn("own")
    assert (changed.sum(-1) == 1).all()


def test_peaks_tower_over_their_rows_and_stand_at_different_places() -> None:
    x = drawn("peaks")
    assert (x.max(-1) > 90).all()
    assert len(set(x.argmax(-1).tolist())) >= places.in_turn(len(x), x.shape[-1])
    down = drawn("peaks/down/0")
    assert (down.min(-1) < -90).all()
    assert len(set(down.argmin(-1).tolist())) >= places.in_turn(len(x), x.shape[-1])
    assert (x.max(-1) > 900).any()
    assert (x.max(-1) < 300).any()
    assert (down.min(-1) < -900).any()


def test_integers_and_indices_keep_their_range_in_every_family() -> None:
    for family in FAMILIES:
        x = drawn(family, "integer", dtype="int32", low=2, high=7)
        assert x.dtype == np.int32
        assert x.min() >= 2
        assert x.max() <= 7


def test_bfloat16_is_drawn_as_what_the_simulator_stores() -> None:
    assert drawn("own", dtype="bfloat16").dtype.name == "bfloat16"


def test_a_reshaped_argument_holds_the_same_numbers() -> None:
    plain, reshaped = drawn("rows"), drawn("rows", shape=[4, 10, 64], drawn=[40, 64])
    assert reshaped.shape == (4, 10, 64)
    assert np.array_equal(plain.ravel(), reshaped.ravel())


def test_a_probe_overwrites_one_element() -> None:
    argument = {"name": "x", "shape": [4, 4], "dtype": "float32"}
    case = {"seed": 1, "family": "own", "probes": [{"input": "x", "index": 5, "value": 9.0}]}
    x = inputs.draw({"inputs": [argument]}, case)["x"]
    assert x[1, 1] == 9.0


def test_the_digest_sees_names_shapes_and_bits() -> None:
    x = np.zeros((2, 3), np.float32)
    others = [{"y": x}, {"x": x.reshape(3, 2)}, {"x": -x}, {"x": x.astype(np.float64)}]
    assert len({inputs.digest({"x": x}), *map(inputs.digest, others)}) == 5


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ValueError, match="no family 'wild'"):
        drawn("wild")
