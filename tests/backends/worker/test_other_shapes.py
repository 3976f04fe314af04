"""A kernel is called at other shapes before the one that counts, at a made-up one where the problem has no others."""

from typing import Any

from nki_anvil.backends.worker import other_shapes


def shapes(name: str, *lengths: int) -> dict[str, Any]:
    inputs = [
        {"name": "x", "shape": list(lengths)},
        {"name": "w", "shape": [lengths[-1]]},
        {"name": "s", "shape": None},
    ]
    return {"name": name, "inputs": inputs}


def test_all_others_come_first_in_an_order_by_lot() -> None:
    sets = [shapes(name, n, 64) for name, n in (("a", 100), ("b", 200), ("c", 300), ("d", 400))]
    found = {tuple(one["name"] for one in other_shapes.before(sets[0], sets, str(lot))) for lot in range(64)}
    assert len(found) == 6
    assert all(set(names) == {"b", "c", "d"} for names in found)


def test_a_lone_shape_set_comes_after_half_of_its_rows_and_longer_ones_wherever_they_are() -> None:
    one = shapes("default", 100, 65)
    made = sorted(other_shapes.before(one, [one], "lot"), key=str)
    assert [[spec["shape"] for spec in other["inputs"]] for other in made] == [
        [[100, 97], [97], None],
        [[50, 65], [65], None],
    ]
