"""How many known exploits the judge rejects, and how many honest kernels it accepts."""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import anyio
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1]))
from cheats.catalogue import CHEATS, HONEST
from court import Court


def tables() -> Iterable[Table]:
    """Judge the whole catalogue; some minutes."""
    with tempfile.TemporaryDirectory() as folder:
        rejected, accepted, missed = anyio.run(_score, Court(Path(folder)))
    table = Table("kernels", "judged right", "of", title="the judge")
    table.add_row("exploits rejected by their gate", str(rejected), str(len(CHEATS)))
    table.add_row("honest kernels accepted", str(accepted), str(len(HONEST)))
    table.caption = f"judged wrong: {', '.join(missed)}" if missed else None
    yield table


async def _score(court: Court) -> tuple[int, int, list[str]]:
    right = {True: 0, False: 0}
    missed: list[str] = []
    for kernel in (*CHEATS, *HONEST):
        verdict = await court.judge(kernel.problem, kernel.text())
        if (verdict.failed_gate or "") == kernel.gate:
            right[bool(kernel.gate)] += 1
        else:
            missed.append(str(kernel))
    return right[True], right[False], missed
