"""A yardstick as a file: the reference's process writes it, the server reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.worker import arrays
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
        if output.rough is not None:
            kept[f"rough{position}"], kept[f"around{position}"] = output.rough.r, output.rough.spread
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
        rough = Rough(data[f"rough{position}"], data[f"around{position}"]) if f"rough{position}" in data else None
        r, spread, moved = data[f"r{position}"], data[f"spread{position}"], data.get(f"moved{position}")
        outputs.append(Expected(r, spread, rows=rows, moved=moved, rough=rough, **fact))
    return Yardstick(tuple(outputs), bool(facts["admissible"]))
