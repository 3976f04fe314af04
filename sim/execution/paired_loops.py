"""Whether two cores have run each loop on the device as often: where they do not, nobody knows what a pair does.

What the text says of it is a rule's to see (``rules.loops``); what registers say shows when it has run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nki_anvil.sim.program import Program
from nki_anvil.sim.rules.finding import Finding
from nki_anvil.sim.rules.loops import of_core


def unlike_loops(program: Program, trips: Sequence[int]) -> Iterator[Finding]:
    """For each loop of the first core that the second ran more often, or less."""
    if program.cores < 2:
        return
    first, lines = program.tables["regions"]["first"], program.tables["instructions"]["line"]
    for mine, theirs in zip(of_core(program, 0), of_core(program, 1), strict=False):
        if trips[mine] != trips[theirs]:
            yield Finding(
                code="TRN2-LNC-LOOP",
                severity="error",
                message=f"a loop on the device runs {trips[mine]} times on one core and {trips[theirs]} on the other",
                line=int(lines[first[mine]]),
                remedy="Let both cores run as many turns, each on its own part.",
            )
