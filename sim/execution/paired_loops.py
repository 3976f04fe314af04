"""Whether two cores have run each loop on the device as often: where they do not, nobody knows what a pair does.

What the text says of it is a rule's to see (``rules.loops``); what registers say shows when it has run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nki_anvil.sim.program import Program
from nki_anvil.sim.rules.finding import Finding


def unlike_loops(program: Program, trips: Sequence[int]) -> Iterator[Finding]:
    """For each loop of the first core that the second ran more often, or less."""
    if program.cores < 2:
        return
    regions, rows = program.tables["regions"], program.tables["instructions"]
    first: list[int] = regions["first"].tolist()
    last: list[int] = regions["last"].tolist()
    cores: list[int] = rows["core"].tolist()
    bodies = [region for region in range(len(first)) if first[region] < last[region]]
    one, other = ([region for region in bodies if cores[first[region]] == core] for core in (0, 1))
    for mine, theirs in zip(one, other, strict=False):
        if trips[mine] != trips[theirs]:
            yield Finding(
                code="TRN2-LNC-LOOP",
                severity="error",
                message=f"a loop on the device runs {trips[mine]} times on one core and {trips[theirs]} on the other",
                line=int(rows["line"][first[mine]]),
                remedy="Let both cores run as many turns, each on its own part.",
            )
