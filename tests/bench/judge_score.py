"""How many known exploits the judge rejects, and how many honest kernels it accepts."""

import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1]))
from cheats.catalogue import CHEATS, HONEST
from court import Court


def tables() -> Iterable[Table]:
    """Judge the whole catalogue; some minutes."""
    with tempfile.TemporaryDirectory() as folder:
        score = anyio.run(_score, Court(Path(folder)))
    table = Table("kernels", "judged right", "of", title="the judge")
    table.add_row("exploits rejected by their gate", str(score.rejected), str(len(CHEATS)))
    table.add_row("honest kernels accepted", str(score.accepted), str(len(HONEST)))
    said = [
        f"rejected by the look before a claim alone: {', '.join(score.late)}" if score.late else "",
        f"judged wrong: {', '.join(score.missed)}" if score.missed else "",
    ]
    table.caption = "; ".join(filter(None, said)) or None
    yield table


@dataclass
class Score:
    rejected: int = 0
    accepted: int = 0
    late: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


async def _score(court: Court) -> Score:
    score = Score()
    for kernel in (*CHEATS, *HONEST):
        look = court.judge_a_claim if kernel.gate else court.judge
        verdict = await look(kernel.problem, kernel.text())
        if (verdict.failed_gate or "") != kernel.gate:
            score.missed.append(str(kernel))
        elif kernel.gate:
            score.rejected += 1
            score.late += [str(kernel)] if verdict.unseen else []
        else:
            score.accepted += 1
    return score
