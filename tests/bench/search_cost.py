"""What memory is worth: attempts that the scripted optimizer needs with and without it, over all seeds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
from optimizer.trials import Cost, both, costs, transferred
from rich.table import Table
from seed_on_simulator import NAMES

THRESHOLDS = (1.0, 1.1, 1.2, 1.5, 2.0)


def fast_at(found: list[Cost], threshold: float) -> float:
    """Share of the seeds whose best right kernel is more than ``threshold`` times as fast as the baseline."""
    return sum(one.speedup > threshold for one in found) / len(found)


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        without, with_memory = anyio.run(both, Path(folder), NAMES)
    found = costs(without, with_memory, NAMES)
    table = Table("seed", "without", "with memory", "speedup", title="Attempts to the best latency found, modelled")
    for one in found:
        table.add_row(one.seed, str(one.without), str(one.with_memory), f"{one.speedup:.2f}")
    table.add_section()
    table.add_row("all", str(sum(one.without for one in found)), str(sum(one.with_memory for one in found)), "")
    yield table
    names = ", ".join(f"{turn.step} from {turn.origin} on {turn.seed}" for turn in transferred(with_memory))
    shares = Table("", "", title="The search with memory")
    shares.add_row("attempts made", str(len(with_memory.turns)))
    shares.add_row("lessons kept on another seed", names)
    for threshold in THRESHOLDS:
        shares.add_row(f"fast@{threshold:g}", f"{fast_at(found, threshold):.2f}")
    yield shares
