"""The picture of a wrong output: where it is wrong, how much, and where most; never what the values are."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lab_world import World, kernel, verdict_of

from nki_anvil.lab.expected import Expected
from nki_anvil.lab.heat import COLOURS, Heat, draw, heat
from nki_anvil.lab.verdict import Where
from nki_anvil.lab.yardstick import measure

WHERE = Where(output=0, index=(3, 4), row=(3,), family="own", shapes="default", got=2.0, expected=1.0)
SVG = "{http://www.w3.org/2000/svg}"


def expected(shape: tuple[int, ...]) -> Expected:
    r = np.random.default_rng(3).standard_normal(shape)
    honest = [[r * (1 + 2.0**-24)]]
    return measure([r], honest, [], dtypes=["float32"], precision="float32", rowwise=True, large=False).outputs[0]


def test_a_right_output_is_cold_everywhere() -> None:
    known = expected((160, 640))
    assert {*"".join(heat(known, known.r, (0, 0), 0).rows)} == {"0"}


def test_what_is_wrong_is_hot_where_it_is_wrong_and_the_worst_is_marked() -> None:
    known = expected((320, 640))
    y = known.r.copy()
    y[240:, 320:] = 0
    y[250, 600] = np.nan
    found = heat(known, y, (250, 600), 1)
    hot = [[x > "5" for x in row] for row in found.rows]
    assert len(found.rows) == 40
    assert np.array_equal(np.argwhere(hot).min(axis=0), [30, 32])
    assert np.mean(hot) == pytest.approx(0.25 * 0.5, abs=0.01)
    assert found.rows[found.place[0]][found.place[1]] == "9"


@pytest.mark.parametrize("shape", [(), (5,), (300,), (3, 130, 600), (1, 1, 1, 7)])
def test_every_shape_has_a_picture(shape: tuple[int, ...]) -> None:
    known = expected(shape)
    found = heat(known, known.r + 1.0, tuple(n - 1 for n in shape), 0)
    picture = ET.fromstring(draw(found, "t"))
    assert picture.tag == f"{SVG}svg"
    assert {*"".join(found.rows)} <= set("6789")
    assert found.place == (len(found.rows) - 1, len(found.rows[0]) - 1)


def test_the_picture_merges_neighbours_and_stays_small() -> None:
    rows = ("0" * 64, "0" * 32 + "9" * 32)
    found = Heat(output=0, shape=(2, 64), rows=rows, place=(1, 40), index=(1, 40))
    bars = [r for r in ET.fromstring(draw(found, "a < b")).iter(f"{SVG}rect") if r.get("height") == "10"]
    assert [(r.get("width"), r.get("fill")) for r in bars[:3]] == [
        ("640", COLOURS[0]), ("320", COLOURS[0]), ("320", COLOURS[9]),
    ]  # fmt: skip


@pytest.mark.anyio
async def test_a_failed_verdict_names_its_picture(tmp_path: Path) -> None:
    world = World(tmp_path)
    known = expected((64, 64))
    shown = heat(known, known.r * 2, (3, 4), 0)

    async def verify(specification, text, digest, *, backend, **_):
        verdict = verdict_of(specification, text, digest, backend)
        return verdict if verdict.passed else verdict.model_copy(update={"heat": shown, "where": WHERE})

    world.lab.verify = verify
    await world.open()
    failed = await world.verify(kernel(7, fails="values"))
    assert failed.heat_map is not None
    assert "worst element, [3, 4]" in (world.workspace / failed.heat_map).read_text()
    assert (await world.verify(kernel(7, fails="values"))).heat_map == failed.heat_map, "a repeat names it too"
    assert (await world.verify(kernel(6))).heat_map is None
    assert "heat" not in (world.state / "attempts" / "0001" / "verdict.json").read_text()


def test_a_cell_says_nothing_of_the_values() -> None:
    known = expected((16, 16))
    doubled = heat(replace(known, r=known.r), known.r * 3, (0, 0), 0)
    assert set(doubled.model_dump()) == {"output", "shape", "rows", "place", "index"}
