"""What an estimate promises, whatever the program."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_builder import ProgramBuilder
from random_programs import ENGINE_OF, KINDS, program, step, steps

from nki_anvil.backends.run import EngineTime, Gap, Profile
from nki_anvil.sim import profile
from nki_anvil.sim.profile import estimate

METRICS = {
    *(f"{memory}_{way}_bytes" for memory in ("hbm", "sbuf", "psum") for way in ("read", "write")),
    "spill_reload_bytes",
    "spill_save_bytes",
    "hardware_flops",
    "transpose_flops",
    "peak_flops_bandwidth_ratio",
    "mm_arithmetic_intensity",
    "hfu_estimated_percent",
    "scalar_engine_active_time_percent",
    "vector_engine_active_time_percent",
    "gpsimd_engine_active_time_percent",
    "tensor_engine_active_time_percent",
    "dma_active_time",
    "latency",
}
ENGINE_KINDS = {kind: ENGINE_OF.get(kind, kind) for kind in KINDS}


def busy(found: profile.Estimate) -> dict[str, float]:
    return {engine.engine: engine.busy_us for engine in found.engines}


def test_an_estimate_has_the_fields_of_the_profile_that_a_backend_sends():
    ours = {field.name for field in fields(profile.Estimate)}
    assert ours == set(Profile.model_fields) - {"shapes", "origin", "artefact"}
    assert {field.name for field in fields(profile.EngineTime)} == set(EngineTime.model_fields)
    assert {field.name for field in fields(profile.Gap)} == set(Gap.model_fields)


def test_every_metric_of_the_profiler_is_there_even_where_it_is_zero():
    assert estimate(ProgramBuilder().program()).metrics.keys() == METRICS


def test_an_empty_program_takes_no_time_and_is_bound_by_nothing():
    found = estimate(ProgramBuilder().program())
    assert (found.latency_us, found.floor_us, found.bound_by, found.busiest) == (0, 0, "underutilized", "")


def test_an_unknown_chip_is_refused_by_name():
    with pytest.raises(KeyError, match="trn9"):
        estimate(ProgramBuilder().program(), chip="trn9")


@given(steps)
@settings(max_examples=60)
def test_the_latency_is_never_below_the_floor_nor_below_any_engines_time(chosen):
    found = estimate(program(chosen))
    assert found.floor_us <= found.latency_low_us * (1 + 1e-9)
    assert found.latency_low_us <= found.latency_us <= found.latency_high_us
    assert all(engine.busy_us <= found.latency_us * (1 + 1e-9) for engine in found.engines)
    assert all(gap.cost_us <= found.latency_us * (1 + 1e-9) for gap in found.gaps)
    shares = [value for name, value in found.metrics.items() if name.endswith("percent")]
    assert all(0 <= share <= 1 for share in shares)


@given(steps, step, st.data())
@settings(max_examples=60)
def test_an_added_instruction_never_lowers_its_engines_time(chosen, extra, data):
    at = data.draw(st.integers(0, len(chosen)))
    engine = ENGINE_KINDS[extra[0]]
    before, after = busy(estimate(program(chosen))), busy(estimate(program([*chosen[:at], extra, *chosen[at:]])))
    assert after[engine] >= before[engine] - 1e-9


@given(steps)
@settings(max_examples=25)
def test_the_same_program_gives_the_same_estimate(chosen):
    assert estimate(program(chosen), timeline=True) == estimate(program(chosen), timeline=True)


def independent(order):
    """One load, activation, copy and matmul on tiles of their own, twice each, in some interleaving."""
    made = ProgramBuilder()
    source = made.input((512, 512))
    own = [made.tensor((128, 512), line=0) for _ in range(6)]
    half, bank = made.tensor((128, 512), "bfloat16", line=0), made.tensor((128, 512), memory="psum", line=0)
    count = dict.fromkeys(order, 0)
    for kind in order:
        count[kind] += 1
        line = 10 * "dvst".index(kind) + count[kind]
        if kind == "d":
            made.emit("dma_copy", own[count[kind]], source[128 * count[kind] : 128 * count[kind] + 128], line=line)
        elif kind == "v":
            made.emit("tensor_copy", own[3], own[3], line=line)
        elif kind == "s":
            made.emit("activation", own[4], None, own[4], op="exp", line=line)
        else:
            made.emit("nc_matmul", bank, half[:, 0:128], half, line=line)
    return made.program()


@given(st.permutations("ddvvsstt"))
@settings(max_examples=40)
def test_permuting_independent_instructions_on_different_engines_changes_nothing(order):
    found, usual = estimate(independent(order)), estimate(independent("ddvvsstt"))
    assert replace(found, gaps=()) == replace(usual, gaps=())
    assert {gap.name: gap.cost_us for gap in found.gaps} == {gap.name: gap.cost_us for gap in usual.gaps}


@pytest.mark.parametrize(
    ("kind", "bound_by", "busiest"),
    [
        ("load", "memory", "dma"),
        ("matmul", "compute", "tensor"),
        ("vector", "pipeline", "vector"),
        ("gpsimd", "pipeline", "gpsimd"),
    ],
)
def test_what_binds_is_the_engine_that_is_busy_for_most_of_the_time(kind, bound_by, busiest):
    found = estimate(program([(kind, number % 4, number % 4, 512) for number in range(64)]))
    assert (found.bound_by, found.busiest) == (bound_by, busiest)


def test_a_kernel_that_mostly_waits_is_bound_by_nothing():
    found = estimate(program([("load", 0, 0, 512), ("scalar", 1, 0, 512), ("store", 0, 1, 512)]))
    assert found.bound_by == "underutilized"
    assert "dma_start_latency" in {gap.name for gap in found.gaps}


def test_counters_follow_the_profilers_definitions():
    made = ProgramBuilder()
    source, target = made.input((128, 512)), made.result((128, 512))
    left, right = made.tensor((128, 128)), made.tensor((128, 512))
    bank, out = made.tensor((128, 512), memory="psum"), made.tensor((128, 512))
    made.emit("dma_copy", right, source)
    made.emit("nc_matmul", bank, left, right)
    made.emit("tensor_copy", out, bank)
    made.emit("dma_copy", target, out)
    metrics = estimate(made.program()).metrics
    moved = 128 * 512 * 4
    assert metrics["hbm_read_bytes"] == metrics["hbm_write_bytes"] == moved
    assert metrics["hardware_flops"] == 2 * 2 * 128 * 128 * 512  # two passes in fp32
    assert metrics["sbuf_read_bytes"] == moved + 2 * (128 + 512) * 4
    assert metrics["sbuf_write_bytes"] == moved + 512 * 4
    assert metrics["psum_write_bytes"] == 2 * 512 * 4
    assert metrics["psum_read_bytes"] == 512 * 4
    assert metrics["mm_arithmetic_intensity"] == pytest.approx(2 * 2 * 128 * 128 * 512 / (2 * moved))


def test_two_tensor_elementwise_instructions_leave_the_byte_counters_alone():
    made = ProgramBuilder()
    one, other = made.tensor((128, 512)), made.tensor((128, 512))
    made.emit("tensor_tensor", one, one, other, op="add")
    metrics = estimate(made.program()).metrics
    assert metrics["sbuf_read_bytes"] == metrics["sbuf_write_bytes"] == 0


def test_a_transpose_counts_as_flops_that_are_not_useful():
    made = ProgramBuilder()
    made.emit("nc_transpose", made.tensor((64, 128), memory="psum"), made.tensor((128, 64)))
    metrics = estimate(made.program()).metrics
    assert metrics["transpose_flops"] == metrics["hardware_flops"] == 2 * 2 * 128 * 64 * 128
    assert metrics["mm_arithmetic_intensity"] == 0


def looping(trips, register=True):
    made = ProgramBuilder()
    source, target = made.input((128, 512)), made.result((128, 512))
    bound = made.register()
    bounds = {"upper_register": bound} if register else {"upper": trips}
    with made.loop("fori", made.register(), **bounds):
        tile, result = made.tensor((128, 512)), made.tensor((128, 512))
        made.emit("dma_copy", tile, source)
        made.emit("activation", result, None, tile, op="exp")
        made.emit("dma_copy", target, result)
    return made.program()


def test_a_loop_whose_trip_count_is_data_gives_a_wide_range():
    found = estimate(looping(None))
    assert found.latency_high_us > 4 * found.latency_us
    assert found.latency_low_us < found.latency_us / 4


@pytest.mark.parametrize("trips", [(1000,), {"0": 1000}])
def test_the_trips_of_an_executed_case_settle_the_loop(trips):
    told, known = estimate(looping(None), trips=trips), estimate(looping(1000, register=False))
    assert told == known
    assert told.metrics["hbm_read_bytes"] == 1000 * 128 * 512 * 4


def test_a_loop_takes_as_long_as_its_steady_state_says():
    ten, hundred, thousand = (estimate(looping(count, register=False)).latency_us for count in (10, 100, 1000))
    assert (thousand - hundred) / 900 == pytest.approx((hundred - ten) / 90, rel=0.02)


def test_an_untaken_loop_costs_nothing():
    assert estimate(looping(0, register=False)).latency_us == 0


def test_the_floor_of_an_open_loop_counts_no_iteration():
    assert estimate(looping(None)).floor_us == 0


def test_a_slower_generation_is_slower():
    loads = program([("load", number % 4, number % 4, 512) for number in range(16)])
    assert estimate(loads, chip="trn1").latency_us >= estimate(loads, chip="trn2").latency_us
    assert np.isfinite(estimate(loads, chip="trn3").latency_us)


def test_a_chip_without_recordings_is_never_surer_than_a_factor_of_two():
    matmuls = program([("matmul", number % 4, number % 4, 512) for number in range(64)])
    sure, unsure = estimate(matmuls), estimate(matmuls, chip="trn3")
    assert (sure.extra["model_error"], unsure.extra["model_error"]) == (0.1, 1.0)
    assert unsure.latency_high_us >= 2 * unsure.latency_us
    assert sure.latency_high_us < 2 * sure.latency_us
