"""``nl`` functions, each against NumPy: what they lower to computes what their name says."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim import dtypes, language
from nki_anvil.sim import isa as nisa
from nki_anvil.sim.errors import RuleBroken, TraceError
from nki_anvil.sim.instructions import NAMES
from nki_anvil.sim.program import ProgramError
from nki_anvil.sim.rules import check
from nki_anvil.sim.simulation import simulate
from nki_anvil.sim.tracing import trace

nl: Any = language
DRAW = np.random.default_rng(7)
X = DRAW.normal(size=(8, 24)).astype(np.float32)
Y = DRAW.normal(size=(8, 24)).astype(np.float32)
POSITIVE = np.abs(X) + 0.5
WHOLE = DRAW.integers(0, 100, (8, 24)).astype(np.int32)


def on_tiles(function, *arrays):
    """Load the arrays, apply the function, store what it returns."""

    def kernel(*tensors):
        result = function(*(nl.load(tensor) for tensor in tensors))
        if result.buffer is nl.psum:
            result = nl.copy(result)
        out = nl.ndarray(result.shape, result.dtype, nl.shared_hbm)
        nl.store(out, result)
        return out

    return simulate(kernel, *arrays)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (nl.exp, np.exp),
        (nl.tanh, np.tanh),
        (nl.sigmoid, sigmoid),
        (nl.silu, lambda x: x * sigmoid(x)),
        (nl.relu, lambda x: np.maximum(x, 0)),
        (nl.square, np.square),
        (nl.abs, np.abs),
        (nl.sign, np.sign),
        (nl.negative, np.negative),
        (nl.copy, lambda x: x),
        (nl.floor, np.floor),
        (nl.ceil, np.ceil),
        (nl.trunc, np.trunc),
        (lambda x: nl.sin(nl.multiply(x, 20.0)), lambda x: np.sin(20 * x)),
        (lambda x: nl.cos(nl.multiply(x, 20.0)), lambda x: np.cos(20 * x)),
        (nl.tan, np.tan),
    ],
)
def test_a_function_of_one_tile_computes_its_name(function, expected):
    assert np.allclose(on_tiles(function, X), expected(X.astype(np.float64)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(nl.sqrt, np.sqrt), (nl.log, np.log), (nl.reciprocal, np.reciprocal), (nl.rsqrt, lambda x: x**-0.5)],
)
def test_a_function_of_positive_values_computes_its_name(function, expected):
    assert np.allclose(on_tiles(function, POSITIVE), expected(POSITIVE), rtol=1e-4)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (nl.add, np.add),
        (nl.subtract, np.subtract),
        (nl.multiply, np.multiply),
        (nl.maximum, np.maximum),
        (nl.minimum, np.minimum),
        (nl.less, np.less),
        (nl.greater_equal, np.greater_equal),
    ],
)
def test_a_function_of_two_takes_tiles_and_numbers_on_either_side(function, expected):
    assert np.allclose(on_tiles(function, X, Y), expected(X, Y))
    assert np.allclose(on_tiles(lambda x: function(x, 0.25), X), expected(X, np.float32(0.25)))
    assert np.allclose(on_tiles(lambda x: function(0.25, x), X), expected(np.float32(0.25), X))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: nl.bitwise_and(x, 12), lambda x: x & 12),
        (lambda x: nl.left_shift(x, 3), lambda x: x << 3),
        (nl.invert, np.invert),
        (lambda x: nl.add(x, x), lambda x: x + x),
    ],
)
def test_integers_are_exact(function, expected):
    assert np.array_equal(on_tiles(function, WHOLE), expected(WHOLE))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: nl.sum(x, axis=1), lambda x: x.sum(1, keepdims=True)),
        (lambda x: nl.max(x, axis=-1, keepdims=True), lambda x: x.max(1, keepdims=True)),
        (lambda x: nl.min(x, axis=[1]), lambda x: x.min(1, keepdims=True)),
        (lambda x: nl.mean(x, axis=1), lambda x: x.mean(1, keepdims=True)),
        (lambda x: nl.var(x, axis=1), lambda x: x.var(1, keepdims=True)),
        (lambda x: nl.sum(x.reshape((8, 4, 6)), axis=2), lambda x: x.reshape(8, 4, 6).sum(2)),
        (lambda x: nl.all(nl.greater(x, -9.0), axis=1), lambda x: (x > -9).all(1, keepdims=True)),
        (nl.softmax, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        (lambda x: nl.rms_norm(x, x, 1, 24), lambda x: x * x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)),
    ],
)
def test_a_reduction_runs_along_the_free_dimensions(function, expected):
    assert np.allclose(on_tiles(function, X), expected(X.astype(np.float64)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float8_e4m3", "float8_e5m2", "bfloat16"])
def test_a_transpose_of_few_bits_is_one_that_the_tensor_engine_makes(dtype):
    def kernel(x):
        out = nl.ndarray((24, 8), dtype, nl.shared_hbm)
        nl.store(out, nl.copy(nl.transpose(nl.copy(nl.load(x), dtype))))
        return out

    assert not check(trace(kernel, X))
    assert np.array_equal(simulate(kernel, X), X.astype(dtypes.numpy_dtype(dtype)).T)


def test_matmul_and_transpose_end_in_psum():
    assert np.allclose(on_tiles(lambda x, y: nl.matmul(x, y, transpose_x=True), X, Y), X.T @ Y, atol=1e-4)


def test_matmul_takes_its_first_factor_turned_as_the_chip_does():
    def turned(x, y):
        return nl.matmul(nl.copy(nl.transpose(x)), nl.copy(nl.transpose(y)), transpose_x=True)

    assert np.allclose(on_tiles(turned, X, Y), X @ Y.T, atol=1e-4)
    with pytest.raises(TraceError, match=r"nl\.matmul without transpose_x=True.*nl\.copy\(nl\.transpose\(x\)\)"):
        on_tiles(nl.matmul, X, Y)


def test_where_chooses_between_tiles_and_numbers():
    assert np.array_equal(on_tiles(lambda x, y: nl.where(nl.greater(x, 0.0), x, y), X, Y), np.where(X > 0, X, Y))
    assert np.array_equal(on_tiles(lambda x: nl.where(nl.greater(x, 0.0), 1.0, x), X), np.where(X > 0, 1, X))


def test_a_row_is_broadcast_across_partitions():
    assert np.array_equal(on_tiles(lambda x: nl.broadcast_to(x[0:1], (70, 24)), X), np.broadcast_to(X[:1], (70, 24)))
    assert np.array_equal(on_tiles(lambda x: nl.broadcast_to(x[:, 0:1], (8, 5)), X), np.broadcast_to(X[:, :1], (8, 5)))


def test_filled_tiles_and_constants():
    assert np.array_equal(on_tiles(lambda x: nl.add(x, nl.ones(x.shape, x.dtype)), X), X + 1)
    assert np.array_equal(on_tiles(lambda x: nl.zeros_like(x, nl.int32), X), np.zeros_like(X, np.int32))
    identity = on_tiles(lambda x: nl.shared_identity_matrix(16, nl.float32), X)
    assert np.array_equal(identity, np.eye(16))
    table = np.arange(24, dtype=np.float32).reshape(4, 6)
    assert np.array_equal(on_tiles(lambda x: nl.load(nl.shared_constant(table)), X), table)


def test_assignment_copies_tiles_and_fills_with_numbers():
    def function(x):
        result = nl.ndarray(x.shape, x.dtype)
        result[:, 0:12] = x[:, 12:24]
        result[:, 12:24] = 2.0
        return result

    assert np.array_equal(on_tiles(function, X), np.hstack([X[:, 12:], np.full((8, 12), 2.0)]))


def test_a_number_alone_is_no_tile():
    with pytest.raises(TraceError, match=r"nl\.exp of 3\.0"):
        on_tiles(lambda x: nl.exp(3.0), X)


def test_a_dynamic_loop_adds_rows_up_to_a_count_that_only_data_knows():
    def kernel(x, count):
        bound = nisa.register_alloc()
        held = nl.load(count)
        nisa.register_load(bound, held)
        total, row = nl.zeros((1, 24), nl.float32), nl.ndarray((1, 24), nl.float32)

        def body(i):
            nisa.dma_copy(row, x.ap([[24, 1], [1, 24]], scalar_offset=i))
            nisa.tensor_tensor(total, total, row, nl.add)

        nl.fori_loop(0, bound, body)
        out = nl.ndarray((1, 24), nl.float32, nl.shared_hbm)
        nl.store(out, total)
        return out

    for count in (0, 3, 8):
        result = simulate(kernel, X, np.array([[count]], np.int32))
        assert np.allclose(result, X[:count].sum(0, keepdims=True), atol=1e-5)


def test_an_argument_that_the_kernel_writes_changes_in_place():
    def kernel(x):
        nl.store(x[0:1], nl.zeros((1, 24), nl.float32))
        return x

    given = X.copy()
    returned = simulate(kernel, given)
    assert not given[0].any()
    assert np.array_equal(returned, given)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nl.load(x),
        lambda x: nl.load_transpose2d(x),
        lambda x: nl.store(nl.ndarray(x.shape, x.dtype), x),
    ],
    ids=["load", "load_transpose2d", "store"],
)
def test_loads_come_from_hbm_and_stores_go_there(function):
    with pytest.raises(TraceError, match=r"NKI-MEMORY.*on chip"):
        on_tiles(function, X)


@pytest.mark.parametrize("function", [lambda x: nl.power(x, 2.0), lambda x: nl.power(2.0, x)])
def test_a_power_is_of_two_tiles(function):
    assert np.allclose(on_tiles(nl.power, POSITIVE, Y), POSITIVE**Y)
    with pytest.raises(TraceError, match=r"nl\.power.*two tiles only"):
        on_tiles(function, X)


def test_a_reciprocal_root_is_gpsimds_and_takes_no_psum():
    def in_psum(x):
        held = nl.ndarray(x.shape, x.dtype, nl.psum)
        nisa.tensor_copy(held, x)
        return nl.rsqrt(held)

    assert np.allclose(on_tiles(nl.rsqrt, POSITIVE), 1 / np.sqrt(POSITIVE))
    with pytest.raises(RuleBroken, match="TRN2-ENG-PSUM"):
        on_tiles(in_psum, POSITIVE)


@pytest.mark.parametrize(
    "transfer", [lambda t, x: nisa.dma_copy(t, x, priority=1), lambda t, x: nisa.dma_transpose(t, x, priority=0)]
)
def test_transfers_have_no_priority_on_this_chip(transfer):
    def kernel(x):
        transfer(nl.ndarray(x.shape, x.dtype), x)

    with pytest.raises(TraceError, match="priority"):
        trace(kernel, X[:, 0:8])


def test_a_rule_of_the_machine_stops_a_simulation_with_its_line():
    def kernel(x):
        wide = nl.ndarray((200, 4), nl.float32)
        nisa.memset(wide, 0.0)

    with pytest.raises(RuleBroken) as error:
        simulate(kernel, X)
    assert error.value.line
    assert error.value.code.startswith("TRN2")


def test_ranges_are_unrolled_and_sizes_are_the_chips():
    seen = []

    def kernel(x):
        seen.extend([*nl.affine_range(2), *nl.sequential_range(1, 7, 3), *nl.static_range(5, 6)])
        seen.append(nl.tile_size.pmax * nl.tile_size.gemm_moving_fmax)

    assert len(trace(kernel, X)) == 0
    assert seen == [0, 1, 1, 4, 5, 128 * 512]


def test_every_operation_can_stand_as_op():
    def kernel(x):
        tile = nl.load(x)
        nisa.activation(tile, nl.gelu, tile)
        nisa.activation(tile, np.exp, tile)
        nisa.tensor_tensor(tile, tile, tile, np.maximum)
        nisa.tensor_reduce(tile[:, 0:1], nl.max, tile, axis=1)
        nisa.tensor_scalar(tile, tile, nl.abs, None, op1=np.multiply, operand1=math.pi)

    program = trace(kernel, X)
    named = [program.attributes[i] for i in program.tables["instructions"]["attributes"]]
    assert [record.get("op", record.get("op0")) for record in named[1:]] == ["gelu", "exp", "maximum", "maximum", "abs"]
    assert NAMES[program.tables["instructions"]["opcode"][-1]] == "tensor_scalar"


def test_an_operation_is_not_named_by_a_class_of_the_texts_own():
    class Name(str):
        __slots__ = ()

    class Way:
        operation = Name("multiply")

    def kernel(x):
        tile = nl.load(x)
        nisa.tensor_tensor(tile, tile, tile, Way())

    with pytest.raises(TraceError) as error:
        trace(kernel, X)
    assert error.value.code == "NKI-OPERATION"


def test_what_nobody_may_run_is_not_simulated_either():
    def kernel(x):
        held = nl.shared_constant(np.ones((128, 4), np.float32))
        tile = nl.ndarray((128, 4), nl.float32)
        nisa.memset(tile, 5.0)
        nisa.dma_copy(held, tile)
        return x

    with pytest.raises(ProgramError, match="constant"):
        simulate(kernel, X)


def test_a_shared_constant_comes_from_a_file_that_can_be_read(tmp_path):
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "table.npy", table)
    assert np.array_equal(on_tiles(lambda x: nl.load(nl.shared_constant(tmp_path / "table.npy")), X), table)
    with pytest.raises(TraceError, match="cannot be read here"):
        on_tiles(lambda x: nl.load(nl.shared_constant(str(tmp_path / "gone.npy"))), X)


def test_what_the_stubs_derive_from_nkiobject_is_one():
    class Mine(nl.NKIObject):
        pass

    def ask(x):
        register, instruction = nisa.register_alloc(), nisa.memset(nl.ndarray((4, 4), nl.float32), 0.0)
        for one in (x, register, instruction, nl.tile_size, Mine()):
            assert isinstance(one, nl.NKIObject)
            assert isinstance(one, Mine) is (type(one) is Mine)
        for one in (nl.sbuf, nl.float32, Mine, 1):
            assert not isinstance(one, nl.NKIObject)
        return nl.copy(x)

    assert issubclass(nl.NkiTensor, nl.NKIObject)
    on_tiles(ask, X)


def test_configuration_objects_take_plain_attributes_by_keyword():
    @dataclass
    class Settings(nl.NKIObject):
        depth: int = 1
        name = None

    @dataclass
    class Open(nl.NKIObject):
        width: int
        height: int

    @dataclass
    class Written(nl.NKIObject):
        area: int

        def __init__(self, width: int) -> None:
            self.area = width * width

    class Loose(nl.NKIObject):
        pass

    assert Written(3).area == 9
    assert (Open(3).height, Open(height=2).width, Open(1, 2).height) == (None, None, 2)
    settings = Settings(depth=2, name="outer")
    assert (settings.depth, settings.name) == (2, "outer")
    assert Loose(width=3).width == 3
    with pytest.raises(TypeError):
        Settings(height=1)
    with pytest.raises(TraceError, match="'__dict__'"):
        Loose(__dict__={})


def test_a_reduction_beside_an_activation_may_stay_in_the_engine():
    def chained(x):
        added = nl.ndarray((8, 1), nl.float32)
        nisa.activation_reduce(x, nl.copy, x, nl.add, None)
        nisa.activation(x, nl.copy, x, reduce_op=nl.add, reduce_res=added, reduce_cmd=nisa.reduce_cmd.reduce)
        return added

    assert np.allclose(on_tiles(chained, X), 2 * X.sum(1, keepdims=True))
