"""Kernels that the embedded simulator does not know, on a host whose SDK does."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_client import session, settings_file
from served import call, refusal
from standin_host import StandInHost

from nki_anvil.backends.ssh import merging
from nki_anvil.sim.errors import NotSimulated

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

REFERENCE = """
import numpy as np

def get_inputs():
    return [np.random.randn(64, 128).astype(np.float32)]

def forward(x):
    return np.exp(x)
"""
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.exponential(dst=tile, src=tile)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
NOT_RUN = ("reproducible", "machine", "plausibility")


async def test_what_only_the_device_knows_is_verified_and_timed_there_and_the_gates_that_need_a_program_say_why_not(
    tmp_path: Path, there: StandInHost
) -> None:
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(KERNEL)
    settings_file(tmp_path, there)
    async with session(tmp_path) as client:
        opened = await call(client, "open_problem", reference="reference.py", kernel_path="kernel.py", name="p")
        assert opened["baseline"], opened
        verdict = await call(client, "verify_kernel", problem="p")
        gates = {gate["name"]: gate for gate in verdict["gates"]}
        for name in NOT_RUN:
            assert gates[name]["passed"] is None
            assert "nki.isa.exponential belongs to Trainium3" in gates[name]["detail"], "the reason"
        others = [gate["passed"] for gate in verdict["gates"] if gate["name"] not in NOT_RUN]
        assert others == [True] * 6
        assert (await call(client, "profile_kernel", problem="p"))["origin"] == "device"

        twice = KERNEL.replace(
            "    nisa.exponential(dst=tile, src=tile)\n", "    nisa.exponential(dst=tile, src=tile)\n" * 2
        )
        verdict = await call(client, "verify_kernel", problem="p", source=twice)
        assert next(gate["name"] for gate in verdict["gates"] if gate["passed"] is False) == "values"
        half = KERNEL.replace("dst=out, src=tile", "dst=out[0:32, 0:128], src=tile[0:32, 0:128]")
        verdict = await call(client, "verify_kernel", problem="p", source=half)
        assert next(gate["name"] for gate in verdict["gates"] if gate["passed"] is False) == "outputs"
        nobody = KERNEL.replace("nisa.exponential(", "nisa.fancy(")
        verdict = await call(client, "verify_kernel", problem="p", source=nobody)
        assert verdict["gates"][0]["passed"] is False, "what NKI does not have either is no question for a device"
        assert "gate.unverified" in await refusal(client, "benchmark_kernel", problem="p", source=nobody)


def test_the_code_is_the_simulators() -> None:
    assert NotSimulated("x").code == merging.UNKNOWN
