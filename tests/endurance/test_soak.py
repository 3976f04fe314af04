"""Eight clients with all tools, cancelled and killed: thirty minutes with NKI_ANVIL_ENDURANCE=1, else seconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from endurance.crowd import Soak

ENDURANCE = bool(os.environ.get("NKI_ANVIL_ENDURANCE"))
SECONDS = 1800.0 if ENDURANCE else 20.0
BLOCKED_MS = 100.0
"""Longest that one callback may keep the event loop."""
FILES = 24
"""Handles that eight clients' calls may have open at once beyond what was open after a quarter of the time."""
GROWTH_MB = 64.0
"""Of the server's memory after that quarter, in a whole run: what it remembers of attempts is some kilobytes each."""


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_crowd_of_clients_loses_no_attempt_leaves_no_process_and_never_blocks_the_loop(tmp_path: Path):
    soak = Soak(tmp_path, SECONDS)
    found = await soak.run()
    said = {name: value for name, value in found.items() if name != "culprits"}
    print(said)  # noqa: T201
    assert found["answered"] >= soak.verdicts, said
    assert found["cancelled"] + sum(found["killed"].values()) > 3, said
    assert not found["unexpected"], said
    assert (found["lost"], found["changed"], found["faults"], found["best_unverified"]) == (0, 0, [], 0), said
    assert found["memory"] == [], said
    assert found["orphans"] == [], said
    if ENDURANCE:  # seconds beside other tests say more of the machine than of the server
        assert found["blocked_ms"] < BLOCKED_MS, found["culprits"]
    after_a_quarter, _, last = found["files"]
    assert last <= after_a_quarter + FILES, said
    assert found["rss_mb"][2] - found["rss_mb"][1] < GROWTH_MB, said
