"""One table for the profilers of every generation."""

import pytest

from nki_anvil.backends.worker.device import metrics
from nki_anvil.backends.worker.device.artefacts import normalised
from nki_anvil.backends.worker.device.failures import compile_error, machine_failure, run_error

COUNTERS = {"total_time": 2e-5, "hbm_read_bytes": 262144, "vector_engine_active_time_percent": 0.7}


@pytest.mark.parametrize("found", [{"opaque": COUNTERS}, [COUNTERS], COUNTERS])
def test_a_summary_is_read_in_each_of_its_forms(found: object) -> None:
    assert metrics.summary_of(found) == COUNTERS


def test_times_are_seconds_there_and_what_is_absent_is_zero() -> None:
    profile = metrics.profile(COUNTERS, "default")
    assert profile["latency_us"] == pytest.approx(20.0)
    assert profile["metrics"]["latency"] == pytest.approx(0.02), "milliseconds"
    assert profile["metrics"]["hardware_flops"] == 0.0
    assert "mbu_estimated_percent" not in profile["extra"], "not told is not zero for what not every profiler tells"
    assert profile["bound_by"] == "pipeline"
    assert profile["busiest"] == "vector"


def test_the_old_profilers_names_mean_the_same() -> None:
    old = {"total_time": 2e-5, "dve_engine_active_time_percent": 0.7, "sb_spill_save_bytes": 512}
    found, _ = metrics.adapted(old)
    assert found["vector_engine_active_time_percent"] == 0.7
    assert found["spill_save_bytes"] == 512


def test_a_summary_without_a_time_is_no_profile() -> None:
    with pytest.raises(metrics.NoLatency, match="hbm_read_bytes"):
        metrics.adapted({"hbm_read_bytes": 1})


def test_a_compilers_refusal_keeps_its_code_and_the_kernels_line() -> None:
    said = 'Traceback:\n  File "/tmp/x/kernel.py", line 12, in kernel\nRuntimeError: [NCC_INKI016] tile too large'
    error = compile_error(said)
    assert (error["code"], error["line"]) == ("NCC_INKI016", 12)
    assert "tile too large" in error["message"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("NrtError: NRT Error NRT_RESOURCE(4): Logical Neuron Core(s) not available - Requested:0", "core_busy"),
        ("NrtError: NRT Error NRT_FAILURE(6): compiled for a different target architecture", "wrong_chip"),
        ("OSError: [Errno 28] No space left on device", "disk_full"),
        ("Segmentation fault", "failed"),
    ],
)
def test_what_the_machine_says_is_no_kernels_failure(said: str, code: str) -> None:
    assert run_error(said) is None
    assert machine_failure(said).code == code


def test_a_kernel_that_reads_out_of_bounds_is_told_what_to_check() -> None:
    error = run_error("NrtError: NRT Error NRT_EXEC_OOB(1006): Failed to execute model")
    assert error is not None
    assert error["code"] == "NRT_EXEC_OOB"
    assert "indices" in error["remedy"]


def test_an_artefacts_digest_forgets_identifiers_and_dates_but_no_content() -> None:
    def neff(identifier: bytes, date: int, content: bytes) -> bytes:
        import io
        import tarfile

        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            member = tarfile.TarInfo("program.bin")
            member.size, member.mtime = len(content), date
            archive.addfile(member, io.BytesIO(content))
        return identifier.ljust(1024, b"\0") + stream.getvalue()

    first = normalised(neff(b"one", 1, b"program"))
    assert first == normalised(neff(b"two", 2, b"program"))
    assert first != normalised(neff(b"one", 1, b"another"))
    assert normalised(b"no archive") != normalised(b"nor this")
