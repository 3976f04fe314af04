"""What every draw has within bounds, with nothing declared of it, is judged within these; opening says so."""

from pathlib import Path

import pytest

from nki_anvil.lab.loading import load

pytestmark = pytest.mark.anyio

WHOLE = "np.random.randint(0, 100, (64, 64)).astype(np.float32)"
LEVELS = "[inputs.x]\nshape = [64, 64]\ndtype = 'float32'\ndomain = 'integer [0, 99]'\n"
REALS = "[inputs.x]\nshape = [64, 64]\ndtype = 'float32'\n"


async def warnings(folder: Path, draws: str, toml: str | None = None) -> tuple[str, ...]:
    source = f"import numpy as np\ndef get_inputs():\n    return [{draws}]\ndef forward(x):\n    return x * 2.0\n"
    (folder / "reference.py").write_text(source)
    if toml is not None:
        (folder / "problem.toml").write_text(toml)
    return (await load(folder)).warnings


@pytest.mark.parametrize("toml", [None, "[dims]\nN = 9\n"])
async def test_floats_that_every_draw_has_whole_are_told_with_their_range(tmp_path: Path, toml: str | None) -> None:
    assert await warnings(tmp_path, WHOLE, toml) == (
        "In every draw x is whole, 0 to 99: no other numbers are judged; declare [inputs.x] with its domain otherwise.",
    )


@pytest.mark.parametrize(
    ("draws", "drawn"),
    [
        ("np.ones((64, 64), np.float32)", "1"),
        ("np.random.random((64, 64)).astype(np.float32)", "not below zero"),
        ("np.random.uniform(1, 2, (64, 64)).astype(np.float32)", "above zero"),
    ],
)
async def test_arrays_of_one_number_or_with_none_below_zero_are_told(tmp_path: Path, draws: str, drawn: str) -> None:
    told = await warnings(tmp_path, draws)
    assert any(one.startswith(f"In every draw x is {drawn}: ") for one in told)


@pytest.mark.parametrize(
    ("draws", "toml"),
    [
        pytest.param("np.random.random((64, 64)).astype(np.float32)", REALS, id="declared"),
        pytest.param("np.random.randn(64, 64).astype(np.float32)", None, id="of either sign"),
        pytest.param(WHOLE, LEVELS, id="declared whole"),
        pytest.param(WHOLE, REALS, id="declared as any"),
        pytest.param(WHOLE.replace("float32", "int32"), None, id="integers"),
        pytest.param(f"{WHOLE} / 8 - 4", None, id="eighths"),
    ],
)
async def test_what_is_declared_and_what_is_within_no_bounds_is_not(
    tmp_path: Path, draws: str, toml: str | None
) -> None:
    assert not any("In every draw" in warning for warning in await warnings(tmp_path, draws, toml))
