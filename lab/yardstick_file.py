"""A yardstick as a file: the reference's process writes it, the server reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.worker import arrays
from nki_anvil.lab.conserved import Conserved
from nki_anvil.lab.expected import Expected
from nki_anvil.lab.rough import Rough
from nki_anvil.lab.yardstick import Yardstick


def save(yardstick: Yardstick, path: Path) -> None:
    """Write a yardstick as ``.npz``."""
    kept: dict[str, NDArray[Any]] = {}
    facts: list[dict[str, Any]] = []
    for position, output in enumerate(yardstick.outputs):
        kept[f"r{position}"], kept[f"spread{position}"] = output.r, output.spread
        kept |= {f"rows{position}/{direction}": norm for direction, norm in output.rows.items()}
        if output.moved is not None:
            kept[f"moved{position}"] = output.moved
        for name, lost in (("rough", output.rough), ("cancelled", output.cancelled)):
            if lost is not None:
                kept[f"{name}{position}"], kept[f"{name}{position}/spread"] = lost.r, lost.spread
        for one in output.conserved:
            kept |= {
                f"conserved{position}/{one.direction}": one.total,
                f"allowed{position}/{one.direction}": one.allowed,
            }
        names = ("whole", "dtype", "precision", "exact", "rowwise", "large", "rounds", "by_lot", "brink")
        facts.append({name: getattr(output, name) for name in names} | {"directions": list(output.rows)})
    text = json.dumps({"admissible": yardstick.admissible, "outputs": facts}).encode()
    np.savez(path, facts=np.frombuffer(text, dtype=np.uint8), **kept)  # type: ignore[arg-type]


def load(path: Path) -> Yardstick:
    """Read a yardstick back; raises OSError, ValueError or KeyError for a file that is none."""
    data = arrays.read_all(path)
    facts = json.loads(data["facts"].tobytes())
    outputs: list[Expected] = []
    for position, fact in enumerate(facts["outputs"]):
        rows = {d: data[f"rows{position}/{d}"] for d in fact.pop("directions")}
        r, spread, moved = data[f"r{position}"], data[f"spread{position}"], data.get(f"moved{position}")
        lost = {name: _lost(data, name, position) for name in ("rough", "cancelled")}
        outputs.append(
            Expected(r, spread, rows=rows, moved=moved, conserved=_conserved(data, position), **lost, **fact)
        )
    return Yardstick(tuple(outputs), bool(facts["admissible"]))


def _conserved(data: Mapping[str, NDArray[Any]], position: int) -> tuple[Conserved, ...]:
    begun = f"conserved{position}/"
    directions = [name.removeprefix(begun) for name in data if name.startswith(begun)]
    return tuple(Conserved(d, data[f"{begun}{d}"], data[f"allowed{position}/{d}"]) for d in directions)


def _lost(data: Mapping[str, NDArray[Any]], name: str, position: int) -> Rough | None:
    kept = f"{name}{position}"
    return Rough(data[kept], data[f"{kept}/spread"], name == "cancelled") if kept in data else None
