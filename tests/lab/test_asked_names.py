"""A text may ask the language for what is known of NKI, and for nothing by which its simulator could be told."""

import pytest

from nki_anvil.lab.asked_names import is_answered


@pytest.mark.parametrize(
    "path",
    ["nki.language.float32", "nki.language.tile_size.pmax", "nki.isa.nc_matmul", "neuronxcc.nki.language.arange"],
)
def test_what_the_simulator_has_may_be_asked_for(path: str) -> None:
    assert is_answered(path)


@pytest.mark.parametrize("path", ["nki.language.dynamic_range", "nki.language.load", "nki.language.mgrid"])
def test_so_may_what_other_versions_have(path: str) -> None:
    assert is_answered(path)


@pytest.mark.parametrize(
    "path", ["nki.isa.nc_matmul_mx", "nki.isa.activate2", "nki.language.int64", "nki.isa.of_the_vendor", "nki.no.name"]
)
def test_what_nki_has_or_may_have_and_the_simulator_lacks_may_not(path: str) -> None:
    assert not is_answered(path)
