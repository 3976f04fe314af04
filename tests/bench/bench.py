"""Speed and accuracy, printed as tables. Ratios are taken within one run; absolute times are this machine's own.

``python tests/bench/bench.py [server] [verify] [simulator] [model] [decisions] [judge] [memory] [search]
[tokens] [waiting] [scaling]``
prints the parts named, or all of them; ``--default`` takes the seeds' small default shapes instead of NKIBench's.
"""

import sys
from collections.abc import Callable, Iterable
from functools import partial

import decision_power
import judge_score
import memory_speed
import model_accuracy
import scaling
import search_cost
import server_speed
import simulator_speed
import token_cost
import verify_speed
import waiting
from rich.console import Console
from rich.table import Table

WIDTH = 160
"""Columns where the output is no terminal."""

PARTS: dict[str, Callable[[], Iterable[Table]]] = {
    "server": server_speed.tables,
    "verify": verify_speed.tables,
    "simulator": simulator_speed.tables,
    "model": model_accuracy.tables,
    "decisions": decision_power.tables,
    "judge": judge_score.tables,
    "memory": memory_speed.tables,
    "search": search_cost.tables,
    "tokens": token_cost.tables,
    "waiting": waiting.tables,
    "scaling": scaling.tables,
}


def main(wanted: list[str], shapes: str) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    parts = {**PARTS, "simulator": partial(simulator_speed.tables, shapes)}
    for name in wanted or parts:
        for table in parts[name]():
            console.print(table)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main([a for a in arguments if a != "--default"], "default" if "--default" in arguments else "nkibench")
