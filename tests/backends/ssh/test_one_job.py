from collections.abc import Callable

import numpy as np
import pytest
from standin_host import KERNEL, StandInHost

from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import RemoteBackend

pytestmark = pytest.mark.anyio

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
