"""Inputs are in the order that is declared, or that all draws have beyond chance; that is said."""

from pathlib import Path

import pytest

from nki_anvil.backends.errors import ProblemInvalid
from nki_anvil.backends.job import InputSpec
from nki_anvil.lab.loading import load
from nki_anvil.lab.specification import Specification

pytestmark = pytest.mark.anyio

SORTED = "np.sort(np.random.randint(0, 50, (4, 6)), axis=1).astype(np.int32)"
STARTS = "np.pad(np.sort(np.random.randint(0, 50, (4, 6)), axis=1), ((0, 0), (1, 0)))"
ENDS = "np.cumsum(np.random.multinomial(64, [1 / 6] * 6, 4), axis=1).astype(np.int32)"
ORDERS = "np.stack([np.random.permutation(9) for _ in range(4)]).astype(np.int32)"
TOML = '[dims]\nN = 9\n[shapes.long]\nN = 12\n[inputs.x]\nshape = [4, "N"]\ndtype = "int32"\n'


async def opened(folder: Path, draws: str, toml: str | None = None) -> Specification:
    source = f"import numpy as np\ndef get_inputs():\n    return [{draws}]\ndef forward(x):\n    return x * 2.0\n"
    (folder / "reference.py").write_text(source)
    if toml is not None:
        (folder / "problem.toml").write_text(toml)
    return await load(folder)


def x_of(found: Specification, shapes: str = "default") -> InputSpec:
    return found.shape_sets[shapes].inputs[0]


@pytest.mark.parametrize(
    ("draws", "order", "said"),
    [
        (SORTED, "ascending", "ascending"),
        ("np.sort(np.random.rand(4, 6).astype(np.float32))", "ascending", "ascending"),
        ("np.arange(16, dtype=np.int32)", "ascending", "ascending"),
        (STARTS + ".astype(np.int32)", "ascending from low", "ascending from 0"),
        (STARTS + ".astype(np.float32)", "ascending from low", "ascending from 0"),
        (ENDS, "ascending to high", "ascending to 64"),
        (f"np.pad({ENDS}, ((0, 0), (1, 0)))", "ascending from low to high", "ascending from 0 to 64"),
        (ORDERS, "permutation", "as permutations of 0 to 8"),
        (f"{ORDERS} - 3", "permutation", "as permutations of -3 to 5"),
        (f"{ORDERS}.astype(np.float32)", "permutation", "as permutations of 0 to 8"),
        ("np.random.permutation(64)[:48].astype(np.int32)", "distinct", "without a number that comes twice"),
        ("np.random.permutation(64)[:48, None].astype(np.int32)", "distinct", "without a number that comes twice"),
    ],
)
async def test_what_all_draws_are_in_order_of_is_inferred_and_said(
    tmp_path: Path, draws: str, order: str, said: str
) -> None:
    found = await opened(tmp_path, draws)
    assert x_of(found).order == order
    assert f"get_inputs draws x {said} along its last axis in every draw: all cases do." in found.warnings


@pytest.mark.parametrize(
    "draws",
    [
        "np.sort(np.random.randint(0, 50, (1, 3)), axis=1).astype(np.int32)",
        "np.sort(np.random.randint(0, 50, (4, 6)), axis=0).astype(np.int32)",
        "np.sort(np.random.randint(0, 50, (4, 6)), axis=1)[:, ::-1].astype(np.int32)",
        "np.full((4, 64), np.random.randint(0, 50), np.int32)",
        "np.arange(4, dtype=np.int32)",
        "np.random.permutation(4).astype(np.int32)",
        "np.stack([np.random.permutation(9) + 9 * row for row in range(4)]).astype(np.int32)",
        "np.random.permutation(9).astype(np.int32) + np.random.randint(0, 1000)",
        "np.random.randint(0, 9, (4, 9)).astype(np.int32)",
        "np.random.rand(4, 6).astype(np.float32)",
    ],
)
async def test_what_may_be_chance_and_what_is_in_no_order_is_not(tmp_path: Path, draws: str) -> None:
    found = await opened(tmp_path, draws)
    assert x_of(found).order is None
    assert not any("along its last axis" in warning for warning in found.warnings)


async def test_sorted_zeros_and_ones_begin_with_nothing_by_chance(tmp_path: Path) -> None:
    found = await opened(tmp_path, "np.sort(np.random.randint(0, 2, (4, 32)), axis=1).astype(np.int32)")
    assert x_of(found).order == "ascending"


async def test_a_declared_order_is_that_of_every_shape_set_and_is_not_said(tmp_path: Path) -> None:
    found = await opened(tmp_path, ORDERS, TOML + 'domain = "integer [1, N]"\norder = "permutation"\n')
    assert {shapes: x_of(found, shapes).order for shapes in found.shape_sets} == {
        "default": "permutation",
        "long": "permutation",
    }
    assert not any("along its last axis" in warning for warning in found.warnings)


@pytest.mark.parametrize(("high", "order"), [("N - 1", "permutation"), ("N", None)])
async def test_an_input_that_is_declared_without_an_order_has_that_of_the_draws_if_its_range_does(
    tmp_path: Path, high: str, order: str | None
) -> None:
    found = await opened(tmp_path, ORDERS, TOML + f'domain = "integer [0, {high}]"\n')
    assert x_of(found).order == order


async def test_integers_without_a_domain_are_permutations_of_those_that_are_drawn(tmp_path: Path) -> None:
    found = await opened(tmp_path, ORDERS, '[inputs.x]\nshape = [4, 9]\ndtype = "int32"\norder = "permutation"\n')
    assert (x_of(found).order, x_of(found).low, x_of(found).high) == ("permutation", 0, 8)


async def test_an_input_that_is_declared_in_any_order_has_none(tmp_path: Path) -> None:
    found = await opened(tmp_path, ORDERS, TOML + 'domain = "integer [0, N - 1]"\norder = "any"\n')
    assert x_of(found).order is None


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (
            'domain = "integer [0, N]"\norder = "permutation"',
            "a permutation of the 10 integers 0 to 9, .* 9 places at default",
        ),
        ('domain = "integer [0, 8]"\norder = "permutation"', "12 places at long"),
        ('domain = "real"\nlow = 0\nhigh = 8\norder = "permutation"', "needs domain"),
        ('domain = "real"\norder = "permutation"', "no low"),
        ('domain = "integer [0, 9]"\norder = "distinct"', "which is for integers, not for float32"),
        ('domain = "positive"\norder = "ascending from low"', "no low"),
        ('domain = "positive"\nlow = 0\norder = "ascending from low to high"', "no high"),
        ('domain = "real"\norder = "descending"', "inputs.x.order"),
    ],
)
async def test_an_order_that_cannot_be_is_named(tmp_path: Path, toml: str, said: str) -> None:
    with pytest.raises(ProblemInvalid, match=said):
        await opened(tmp_path, ORDERS, TOML.replace("int32", "float32") + toml + "\n")


async def test_more_places_than_integers_cannot_be_distinct(tmp_path: Path) -> None:
    with pytest.raises(ProblemInvalid, match="cannot be distinct: 12 places, and 10 integers from 0 to 9 at long"):
        await opened(tmp_path, ORDERS, TOML + 'domain = "integer [0, 9]"\norder = "distinct"\n')


async def test_a_number_is_in_no_order(tmp_path: Path) -> None:
    with pytest.raises(ProblemInvalid, match="which it does not have"):
        await opened(tmp_path, ORDERS, '[inputs.x]\nvalue = 3\norder = "ascending"\n')
