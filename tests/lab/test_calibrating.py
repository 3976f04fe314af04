"""Calibrating a host: what is timed there, what is kept, and what uses it."""

from datetime import UTC, datetime

import numpy as np
import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.errors import BackendUnreachable, BackendUnsupported, StateDamaged
from nki_anvil.backends.fake import FakeBackend, Script
from nki_anvil.backends.run import KernelError
from nki_anvil.lab import calibrating
from nki_anvil.lab.microkernels import EXPERIMENTS
from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.constants import Constants, adjusted
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.model import Model

pytestmark = pytest.mark.anyio
MACHINE = {"launch_ns": 9000.0, "issue_ns.vector": 80.0, "latency_ns.vector": 70.0}
CHOSEN = [one for one in EXPERIMENTS if one.entry in ("vector", "scalar")]
NAMES = (*MACHINE, "table_load_ns")
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def jitter(random, _job, latency_us):
    return [latency_us * (1 + random.gauss(0, 0.004)) for _ in range(8)]


def device(experiments=CHOSEN, **values):
    """A host with constants of its own, which times what it is sent by name."""
    rates = adjusted(RATES["trn2"], MACHINE)
    scripts = {}
    for one in experiments:
        latency = Model(one.program(), CHIPS["trn2"], rates).run().latency / 1e3
        scripts[one.job("trn2", 0).kernel_digest] = Script(latency_us=latency)
    return FakeBackend(scripts=scripts, noise=jitter, **values)


async def calibrated(backend, data, experiments=CHOSEN, **values):
    return await calibrating.calibrate(
        backend, "me@trn2-a", data, lambda: NOW, experiments=experiments, names=NAMES, **values
    )


async def test_a_hosts_own_constants_are_found_stored_and_read_again(tmp_path):
    found = await calibrated(device(), tmp_path)
    for name, value in MACHINE.items():
        assert found.values[name] == pytest.approx(value, rel=0.1)
    assert not next(one for one in found.constants if one.name == "table_load_ns").settled
    assert found.off("fitted_us") < 0.01 < found.off("published_us")
    assert calibrating.known(tmp_path, "me@trn2-a") == found
    assert calibrating.known(tmp_path, "me@trn2-b") is None


async def test_the_record_says_where_it_comes_from(tmp_path):
    found = await calibrated(device(toolchain="neuronx 2.28"), tmp_path, rounds=3)
    assert (found.host, found.at, found.toolchain) == ("me@trn2-a", "2026-01-02T03:04:00+00:00", "neuronx 2.28")
    assert {one.samples for one in found.timings} == {24}
    assert found.source.startswith("fitted to me@trn2-a on 2026-01-02")
    told = str(found)
    assert "table_load_ns" in told
    assert "not told by the timings" in told


async def test_every_repetition_is_a_job_of_its_own(tmp_path):
    backend = device()
    await calibrated(backend, tmp_path, rounds=2)
    assert len({job.digest() for job in backend.jobs}) == len(backend.jobs) == 2 * len(CHOSEN)


async def test_the_simulator_is_refused_for_there_is_nothing_to_measure(tmp_path):
    with pytest.raises(BackendUnsupported, match="nothing to measure"):
        await calibrated(FakeBackend(origin="modelled"), tmp_path)
    assert not list(tmp_path.iterdir())


async def test_a_kernel_that_the_host_refuses_is_left_out_and_named(tmp_path):
    backend = device(EXPERIMENTS)
    broken = CHOSEN[0]
    backend.scripts[broken.job("trn2", 0).kernel_digest] = Script(error=KernelError(code="X", message="no such engine"))
    found = await calibrated(backend, tmp_path, experiments=[*CHOSEN, *EXPERIMENTS[10:13]])
    assert found.left_out == (f"{broken}: no such engine",)
    assert len(found.timings) == len(CHOSEN) + 2


async def test_a_host_that_runs_next_to_nothing_is_not_calibrated(tmp_path):
    broken = FakeBackend(default=Script(error=KernelError(code="X", message="no compiler")))
    with pytest.raises(BackendUnsupported, match=r"ran 0 of 10 microkernels.*no compiler"):
        await calibrated(broken, tmp_path)


async def test_a_machines_failure_ends_it_and_keeps_what_was_known(tmp_path):
    before = await calibrated(device(), tmp_path)
    with pytest.raises(BackendUnreachable):
        await calibrated(device(failures=[BackendUnreachable("gone")]), tmp_path)
    assert calibrating.known(tmp_path, "me@trn2-a") == before


async def test_a_damaged_record_is_an_error_that_names_the_file(tmp_path):
    place = calibrating.place(tmp_path, "me@trn2-a")
    place.parent.mkdir()
    place.write_text("{}")
    with pytest.raises(StateDamaged, match="me_trn2-a"):
        calibrating.known(tmp_path, "me@trn2-a")


def test_hosts_of_like_names_share_no_file(tmp_path):
    names = ("a/b", "a_b", "a:b", "../a", "x" * 300)
    places = [calibrating.place(tmp_path, name) for name in names]
    assert len(set(places)) == len(names)
    assert all(place.parent == tmp_path / "calibration" and len(place.name) < 100 for place in places)


async def test_the_simulator_predicts_with_a_hosts_constants_and_says_whose_they_are(tmp_path):
    job = CHOSEN[1].job("trn2", 0)
    plain, own = ChildBackend(tmp_path / "a"), ChildBackend(tmp_path / "b", constants=Constants("fitted to h", MACHINE))
    (published,), (fitted,) = (await plain.run(job)).profiles, (await own.run(job)).profiles
    assert published.constants == ""
    assert fitted.constants == "fitted to h"
    assert fitted.latency_us > published.latency_us + 8
    assert fitted.floor_us == published.floor_us
    assert own.toolchain != plain.toolchain
    assert (await own.run(job)).toolchain == own.toolchain


async def test_all_microkernels_trace_and_run_in_the_simulator(tmp_path):
    backend = ChildBackend(tmp_path)
    for entry in sorted({one.entry for one in EXPERIMENTS}):
        run = await backend.run(next(one for one in EXPERIMENTS if one.entry == entry).job("trn2", 0))
        assert [trace.outcome for trace in run.traces] == ["ok"], entry
        assert not [found for trace in run.traces for found in trace.findings if found.severity == "error"], entry
        assert np.isfinite(run.profiles[0].latency_us)
