"""What single instructions cost, against the published formulas."""

import itertools
import math

import pytest
from program_builder import ProgramBuilder

from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.costs.formulas import FORMULAS, TABLE_SETS
from nki_anvil.sim.costs.rates import RATES
from nki_anvil.sim.instructions import TABLE
from nki_anvil.sim.model import Model
from nki_anvil.sim.operations import ACTIVATIONS
from nki_anvil.sim.profile import estimate

STREAM_NS = 50


def occupancy(name, *operands, engine=None, chip="trn2", **values):
    """Nanoseconds of one instruction; an operand is (elements, dtype, memory), all on 128 partitions."""
    made = ProgramBuilder()
    views = [operand and made.tensor((128, operand[0]), *operand[1:]) for operand in operands]
    made.emit(name, *views, engine=engine, **values)
    return float(Model(made.program(), CHIPS[chip], RATES[chip]).work.occupancy[0])


def cycles(name, *operands, clock=0.96, **values):
    return (occupancy(name, *operands, **values) - STREAM_NS) * clock


F32, BF16, BANK = (2048, "float32"), (2048, "bfloat16"), (512, "float32", "psum")


def test_every_chip_has_rates():
    assert RATES.keys() == CHIPS.keys()


def test_formulas_and_tables_name_only_what_exists():
    assert FORMULAS.keys() <= TABLE.keys()
    assert TABLE_SETS.keys() <= ACTIVATIONS


@pytest.mark.parametrize("name", TABLE)
def test_every_instruction_of_the_table_costs_a_finite_time(name):
    made = ProgramBuilder()
    operands = [made.tensor((128, 64)) for _ in TABLE[name].slots]
    made.emit(name, *operands)
    found = estimate(made.program())
    assert 0 < found.latency_us < 100
    assert math.isfinite(found.latency_high_us)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((F32, F32), 2048),
        ((BF16, BF16), 512),  # four elements per cycle within SBUF
        (((512, "bfloat16"), BANK), 512),  # fp32 on one side
        (((16, "bfloat16"), (16, "bfloat16")), 64),  # initiation interval
    ],
)
def test_a_vector_copy_takes_the_cycles_of_its_performance_mode(operands, expected):
    assert cycles("tensor_copy", *operands) == pytest.approx(expected)


@pytest.mark.parametrize("dtype", ["float8_e4m3", "uint8", "int16"])
def test_only_sixteen_bit_floats_have_performance_modes(dtype):
    short = (2048, dtype)
    assert cycles("tensor_copy", short, short) == pytest.approx(2048)
    assert cycles("tensor_tensor", short, short, short, op="add") == pytest.approx(2048)


@pytest.mark.parametrize(("result", "expected"), [("bfloat16", 1024), ("float32", 2048)])
def test_a_reduction_is_fast_where_its_result_is_short_too(result, expected):
    assert cycles("tensor_reduce", (1, result), BF16, op="add", axes=[1]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("dtype", "step", "expected"), [("float32", 4, 512), ("float32", 5, 1024), ("bfloat16", 9, 512)]
)
def test_steps_of_more_than_sixteen_bytes_halve_the_rate(dtype, step, expected):
    made = ProgramBuilder()
    wide, tile = made.tensor((128, 512 * step), dtype), made.tensor((128, 512), dtype)
    made.emit("tensor_copy", tile, wide.ap([(512 * step, 128), (step, 512)]))
    found = float(Model(made.program(), CHIPS["trn2"], RATES["trn2"]).work.occupancy[0])
    assert (found - STREAM_NS) * 0.96 == pytest.approx(expected)


@pytest.mark.parametrize(("address", "loaded"), [((64, 508), True), ((0, 512), False), (None, False)])
def test_an_operand_is_loaded_again_after_a_write_to_its_bytes_by_another_name(address, loaded):
    made = ProgramBuilder()
    bank, right = made.tensor((128, 16), memory="psum"), made.tensor((128, 16))
    left = made.tensor((128, 128), address=(0, 0))
    other = made.tensor((64, 4), **({"address": address} if address else {}))
    for _ in range(2):
        made.emit("nc_matmul", bank, left, right)
        made.emit("memset", other, value=1.0)
    first, _, second, _ = Model(made.program(), CHIPS["trn2"], RATES["trn2"]).work.occupancy
    assert bool(second == first) is loaded


@pytest.mark.parametrize(("step", "expected"), [(8, 1), (9, 2)])
def test_a_moving_operand_of_long_steps_streams_at_half_the_rate(step, expected):
    made = ProgramBuilder()
    bank, left = made.tensor((128, 512), memory="psum"), made.tensor((128, 128), "bfloat16")
    right = made.tensor((128, 512 * step), "bfloat16").ap([(512 * step, 128), (step, 512)])
    made.emit("nc_matmul", bank, left, right)
    found = float(Model(made.program(), CHIPS["trn2"], RATES["trn2"]).work.occupancy[0])
    assert (found - 4) * 2.4 == pytest.approx(512 * expected)


@pytest.mark.parametrize(("name", "more"), [("dma_copy", {}), ("dma_compute", {"reduce_op": "add"})])
def test_a_transfer_that_converts_carries_the_wider_format(name, more):
    def carried(dtype):
        made = ProgramBuilder()
        made.emit(name, made.tensor((128, 4096), dtype), made.input((128, 4096)), **more)
        return float(Model(made.program(), CHIPS["trn2"], RATES["trn2"]).moved.carry[0])

    assert carried("float8_e4m3") == carried("bfloat16") == carried("float32")


def test_a_transfer_that_adds_carries_all_its_sources():
    made = ProgramBuilder()
    short, long = made.input((128, 4096), "float8_e4m3"), made.input((128, 4096))
    for sources in ((long, long), (short, long)):
        made.emit("dma_compute", made.tensor((128, 4096), "float8_e4m3"), *sources, reduce_op="add")
    spread = made.input((128, 8192)).ap([(8192, 128), (2, 4096)])
    made.emit("dma_compute", made.tensor((128, 4096)), long, spread, reduce_op="add")
    moved = Model(made.program(), CHIPS["trn2"], RATES["trn2"]).moved
    assert moved.read.tolist() == [128 * 4096 * 8, 128 * 4096 * 5, 128 * 4096 * 8]
    assert moved.runs.tolist() == [256, 256, 1 + 128 * 4096]


def test_the_first_generation_has_no_performance_modes():
    streaming = occupancy("tensor_copy", BF16, BF16, chip="trn1") - RATES["trn1"].issue_ns["vector"]
    assert streaming * 1.12 == pytest.approx(2048)


def test_a_reciprocal_takes_as_many_cycles_as_its_generation_needs():
    for chip, clock, each in (("trn1", 1.12, 2.4), ("trn2", 0.96, 8)):
        streaming = occupancy("reciprocal", F32, F32, chip=chip) - RATES[chip].issue_ns["vector"]
        assert streaming * clock == pytest.approx(2048 * each)


def test_two_sixteen_bit_operands_in_sbuf_run_at_twice_the_rate():
    assert cycles("tensor_tensor", F32, F32, F32, op="add") == pytest.approx(2048)
    assert cycles("tensor_tensor", BF16, BF16, BF16, op="add") == pytest.approx(1024)


def test_where_sources_disagree_on_two_fp32_operands_the_range_says_so():
    made = ProgramBuilder()
    tile = made.tensor((128, 2048))
    for _ in range(16):
        made.emit("tensor_tensor", tile, tile, tile, op="add")
    model = Model(made.program(), CHIPS["trn2"], RATES["trn2"])
    assert float(model.work.doubt.sum()) == pytest.approx(16 * 2048 / 0.96)


def test_a_scan_takes_two_cycles_per_element_and_a_reciprocal_eight():
    assert cycles("tensor_tensor_scan", F32, F32, F32, op0="multiply", op1="add") == pytest.approx(4096)
    assert cycles("reciprocal", F32, F32) == pytest.approx(8 * 2048)
    assert cycles("activation", F32, None, F32, op="reciprocal", clock=1.2) == pytest.approx(2048)


@pytest.mark.parametrize("op", ["reciprocal", "divide", "power", "rsqrt"])
def test_an_operator_that_iterates_is_no_faster_within_another_instruction(op):
    assert cycles("tensor_scalar", F32, F32, op0="add", value0=0.0, op1=op) == pytest.approx(8 * 2048)
    assert cycles("tensor_tensor", F32, F32, F32, op=op) == pytest.approx(8 * 2048)
    on_gpsimd = cycles("tensor_tensor", F32, F32, F32, op=op, engine="gpsimd", clock=1.2)
    assert on_gpsimd == pytest.approx(4 * 2048 + RATES["trn2"].gpsimd_constant_cycles)


def test_a_search_for_the_largest_takes_four_cycles_per_element_of_all_sixteen_partitions():
    found, source = (8, "bfloat16"), (1024, "bfloat16")
    taken = cycles("topk", found, (8, "uint32"), source, n=16 * 1024, clock=1.2)
    assert taken == pytest.approx(4 * 16 * 1024 + 8 + RATES["trn2"].gpsimd_constant_cycles)


def test_a_reduction_beside_an_activation_reads_the_accumulator():
    assert cycles("activation", F32, (1, "float32"), F32, op="exp", clock=1.2) == pytest.approx(2048 + 64)


def matmul_ns(k=128, m=128, n=512, dtype="bfloat16", **values):
    made = ProgramBuilder()
    bank = made.tensor((m, n), memory="psum")
    for _ in range(2):
        left, right = made.tensor((k, m), dtype), made.tensor((k, n), dtype)
        made.emit("nc_matmul", bank, left, right, **values)
    return float(Model(made.program(), CHIPS["trn2"], RATES["trn2"]).work.occupancy[1]) - 4


@pytest.mark.parametrize(
    ("case", "cycles_expected"),
    [
        ({}, 512),
        ({"dtype": "float32"}, 4 * 512),
        ({"n": 32}, 64),
        ({"n": 64, "dtype": "float32"}, 4 * 128),  # the weight load is not hidden
        ({"n": 512, "dtype": "float32", "is_transpose": True}, 2 * 512),
        ({"k": 32}, 512 / 0.75),  # a quarter of the array: a lower clock
        ({"m": 64}, 512),
    ],
)
def test_a_matmul_takes_a_cycle_per_moving_column_and_more_where_the_machine_says_so(case, cycles_expected):
    assert matmul_ns(**case) * 2.4 == pytest.approx(cycles_expected)


def activations(*names):
    made = ProgramBuilder()
    for name in names:
        made.emit("activation", made.tensor((128, 512)), None, made.tensor((128, 512)), op=name)
    return float(Model(made.program(), CHIPS["trn2"], RATES["trn2"]).work.occupancy.sum())


def test_only_a_change_of_the_function_set_loads_a_table():
    once = activations("exp", "exp", "sqrt") - activations("exp", "exp", "exp")
    assert once == pytest.approx(1280)
    assert activations("exp", "copy", "exp") == pytest.approx(activations("exp", "exp", "exp"))
    assert activations("sqrt", "exp", "sqrt") - activations("exp", "exp", "exp") == pytest.approx(2 * 1280)


def table_loads(trips, outside, *inside):
    """The table loads of a kernel that runs an activation, a loop of others, and the first one again."""
    made = ProgramBuilder()
    tile = made.tensor((128, 512))

    def activate(name):
        made.emit("activation", tile, None, tile, op=name)

    activate(outside)
    with made.loop("fori", made.register(), 0, trips):
        for name in inside:
            activate(name)
    activate(outside)
    model = Model(made.program(), CHIPS["trn2"], RATES["trn2"])
    waste = model.work.waste["activation_table_loads"]
    return float((waste * model.weight).sum()) / model.rates.table_load_ns


@pytest.mark.parametrize(
    ("trips", "outside", "inside", "expected"),
    [
        pytest.param(0, "exp", ["tanh"], 0, id="a loop that never runs loads nothing"),
        pytest.param(100, "exp", ["tanh"], 2, id="one function in a loop is loaded once"),
        pytest.param(100, "exp", ["exp", "tanh"], 200, id="two functions in a loop are loaded in turn"),
        pytest.param(100, "exp", ["exp", "copy"], 0, id="a function of every table changes nothing"),
    ],
)
def test_tables_are_loaded_as_often_as_loops_run(trips, outside, inside, expected):
    assert table_loads(trips, outside, *inside) == pytest.approx(expected)


def test_a_loop_that_never_runs_hides_no_table_load_behind_it():
    made = ProgramBuilder()
    tile = made.tensor((128, 512))
    for name in ("tanh", "exp", "tanh"):
        with made.loop("fori", made.register(), 0, 0):
            made.emit("activation", tile, None, tile, op=name)
        made.emit("activation", tile, None, tile, op=name)
    model = Model(made.program(), CHIPS["trn2"], RATES["trn2"])
    charged = model.work.waste["activation_table_loads"] * model.weight
    assert charged.tolist() == pytest.approx([0, 0, 0, 1280, 0, 1280])


def weight_loads(between):
    """How often the stationary operand is loaded in ten trips of two matmuls, with something done between them."""
    made = ProgramBuilder()
    weights, data = made.tensor((128, 128), "bfloat16"), made.tensor((128, 64), "bfloat16")
    sums, register = made.tensor((128, 64), memory="psum"), made.register()
    made.emit("memset", weights, value=1.0)
    with made.loop("fori", register, 0, 10):
        made.emit("nc_matmul", sums, weights, data)
        seen = between(made, weights, register)
        made.emit("nc_matmul", sums, seen or weights, data)
    model = Model(made.program(), CHIPS["trn2"], RATES["trn2"])
    return float((model.found.loads * model.weight[model.found.rows]).sum())


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        pytest.param(lambda made, weights, register: None, 1, id="nothing"),
        pytest.param(lambda made, weights, register: made.emit("memset", weights, value=2.0) and None, 20,
                     id="new weights in the same place"),
        pytest.param(lambda made, weights, register: made.shifted(weights, 0, register=register), 20,
                     id="a place that data decide"),
        pytest.param(lambda made, weights, register: weights.ap([(128, 128), (0, 128)]), 20,
                     id="another pattern from the same start"),
    ],
)  # fmt: skip
def test_a_stationary_operand_stays_only_while_it_is_the_same_data(between, expected):
    assert weight_loads(between) == pytest.approx(expected)


def transfer(target, source):
    made = ProgramBuilder()
    hbm = made.input((512, 512))
    made.emit("dma_copy", made.tensor(*target), source(hbm))
    return Model(made.program(), CHIPS["trn2"], RATES["trn2"]).moved


@pytest.mark.parametrize(
    ("target", "source", "engines", "runs"),
    [
        (((128, 512),), lambda hbm: hbm[0:128], 16, 128),
        (((8, 512),), lambda hbm: hbm[0:8], 1, 8),
        (((64, 512),), lambda hbm: hbm[0:64], 8, 64),
        (((128, 128),), lambda hbm: hbm.ap([(1, 128), (512, 128)]), 16, 128 * 128),
        (((128, 512),), lambda hbm: hbm.ap([(0, 128), (1, 512)]), 16, 128),
        (((128, 256),), lambda hbm: hbm[0:128, 0:512:2], 16, 128 * 256),
    ],
)
def test_a_transfer_is_cut_into_contiguous_runs_over_the_engines_of_its_partitions(target, source, engines, runs):
    moved = transfer(target, source)
    assert (int(moved.engines[0]), int(moved.runs[0])) == (engines, runs)


@pytest.mark.parametrize("indexed", ["source", "target"])
def test_rows_that_an_index_names_are_runs_of_their_own_between_tensors_in_hbm_too(indexed):
    def moved(places):
        made = ProgramBuilder()
        ends = {"source": made.input((128, 16)), "target": made.tensor((128, 16), memory="private_hbm")}
        if places:
            ends[indexed] = made.gathered(ends[indexed], 16, made.tensor((128, 1), "int32"))
        made.emit("dma_copy", ends["target"], ends["source"])
        return int(Model(made.program(), CHIPS["trn2"], RATES["trn2"]).moved.runs[0])

    assert (moved(False), moved(True)) == (1, 128)


def test_a_transfer_is_carried_by_the_engines_of_the_address_and_by_as_few_as_data_may_choose():
    made = ProgramBuilder()
    hbm, placed, free = made.input((64, 512)), made.tensor((8, 512), address=(64, 0)), made.tensor((128, 512))
    register = made.register()
    made.emit("dma_copy", placed, hbm[0:8])
    made.emit("dma_copy", made.shifted(free[4:12], 512, register=register), hbm[0:8])
    made.emit("dma_copy", made.shifted(free[4:12, 0:256], 1, register=register), hbm[0:8, 0:256])
    moved = Model(made.program(), CHIPS["trn2"], RATES["trn2"]).moved
    assert moved.first_engine.tolist() == [8, 0, 0]
    assert moved.engines.tolist() == [1, 1, 2]


def test_the_cores_of_a_pair_work_side_by_side():
    def pair(cores):
        made = ProgramBuilder(cores=cores)
        source = made.input((2048, 512))
        for row in range(16):
            made.emit("dma_copy", made.tensor((128, 512)), source[128 * row : 128 * row + 128])
        program = made.program()
        program.tables["instructions"]["core"][8:] = cores - 1
        return estimate(program)

    single, double = pair(1), pair(2)
    assert double.latency_us < 0.65 * single.latency_us
    assert double.floor_us == pytest.approx(single.floor_us / 2)


def test_more_than_256_tensors_with_addresses_of_their_own_can_be_priced():
    made = ProgramBuilder()
    views = [made.tensor((128, 8), "float32", "sbuf", address=(0, 32 * number)) for number in range(300)]
    for target, source in itertools.pairwise(views):
        made.emit("tensor_copy", target, source)
    assert estimate(made.program(), "trn2").latency_us > 0


def test_an_operand_of_zeros_and_ones_halves_the_passes_of_an_fp32_matmul():
    def streaming(**values):
        made = ProgramBuilder()
        left, right = made.tensor((128, 128)), made.tensor((128, 512))
        made.emit("nc_matmul", made.tensor((128, 512), memory="psum"), left, right, **values)
        found = Model(made.program(), CHIPS["trn2"], RATES["trn2"])
        return found.work.occupancy[0] - RATES["trn2"].issue_ns["tensor"]

    assert streaming(is_stationary_onezero=True) == pytest.approx(streaming() / 2)
    assert streaming(is_moving_onezero=True) == pytest.approx(streaming() / 2)
