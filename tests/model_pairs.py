"""The figures of the starters that were measured on our own model: ``python tests/model_pairs.py`` renews them.

Such a starter names one of the pairs of ``tests/ordered_pairs.py`` as its source. Both kernels are traced and timed by
the performance model; what comes out is the starter's only evidence, marked as modelled.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ordered_pairs import PAIRS, Pair

from nki_anvil.memory.experience import Measurement
from nki_anvil.sim.profile import estimate
from nki_anvil.sim.tracing import trace

STARTERS = Path(__file__).parents[1] / "seeds" / "experiences.jsonl"
SOURCE = re.compile(r"pair (\d+) of tests/ordered_pairs\.py")


def pair_of(line: dict[str, Any]) -> Pair | None:
    """The pair that a starter comes from."""
    found = SOURCE.fullmatch(line["source"])
    return next(pair for pair in PAIRS if pair.number == int(found[1])) if found else None


def modelled(pair: Pair) -> Measurement:
    """The faster kernel of a pair as an attempt that was kept against the slower one."""
    slower, faster = (trace(kernel, *pair.inputs) for kernel in (pair.slower, pair.faster))
    speedup = estimate(slower).latency_us / estimate(faster).latency_us
    return Measurement(
        problem=f"pair {pair.number}: {pair.name}",
        attempt=1,
        digest=faster.digest(),
        outcome="kept",
        origin="modelled",
        speedup=float(f"{speedup:.3g}"),
    )


def renewed(line: dict[str, Any]) -> dict[str, Any]:
    """The starter with the figure of today's model; others as they are."""
    pair = pair_of(line)
    return line if pair is None else line | {"evidence": [modelled(pair).model_dump(mode="json", exclude_none=True)]}


def main() -> None:
    lines = [renewed(json.loads(text)) for text in STARTERS.read_text(encoding="utf-8").splitlines()]
    text = "".join(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n" for line in lines)
    STARTERS.write_text(text, encoding="utf-8")
    for line in lines:
        for measured in line.get("evidence", ()):
            print(f"{measured['speedup']:8.2f} x  {line['title']}  ({line['source']})")  # noqa: T201 - a command


if __name__ == "__main__":
    main()
