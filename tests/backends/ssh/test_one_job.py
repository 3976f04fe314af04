from collections.abc import Callable

import numpy as np
import pytest
from standin_host import StandInHost

from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import RemoteBackend

pytestmark = pytest.mark.anyio

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x, scale):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
CASES = tuple(Case(key=f"c{seed}", seed=seed) for seed in (1, 2))


async def test_a_kernel_is_compiled_there_and_run_on_inputs_that_are_drawn_there(
    remote: Callable[..., RemoteBackend], job: Callable[..., Job], there: StandInHost
) -> None:
    run = await remote().run(job(KERNEL, cases=CASES))
    assert run.origin == "device"
    assert run.toolchain.startswith("stand-in nki 0.7.0")
    assert run.environment["stand_in"]
    from nki_anvil.backends.worker import inputs

    drawn = inputs.draw(job(KERNEL).shape_sets[0].model_dump(), CASES[0].model_dump())["x"]
    np.testing.assert_allclose(run.cases[0].outputs[0], 2 * drawn, rtol=1e-6)
    assert run.traces[0].artefact
