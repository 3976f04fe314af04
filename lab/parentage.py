"""How fast a kernel is beside the one that it was made from, which need not be the one that it was compared with."""

from __future__ import annotations

from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.workbench import Workbench


def speedup_over(bench: Workbench, parent: Attempt, comparison: Comparison) -> float | None:
    """What was compared, over ``parent``: as measured where that was best then, else by the latencies of both.

    None where the parent failed, or was never measured.
    """
    if parent.digest == comparison.best_digest:
        return comparison.speedup
    measured = bench.comparison(parent)
    return measured.latency_us / comparison.latency_us if measured else None
