"""A kernel becomes a program: rows, lines, arguments, outputs, loops, cores, and errors that teach."""

import enum
import functools
import math
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim import isa, language
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.instructions import ENGINES, NAMES
from nki_anvil.sim.kernel import jit
from nki_anvil.sim.program import MEMORIES, NONE, ROLES, decode
from nki_anvil.sim.schema import validate
from nki_anvil.sim.tracing import ArraySpec, tensor_arguments, trace

nisa: Any = isa  # what is refused here, a type checker refuses as well
nl: Any = language
X = np.zeros((128, 512), np.float32)


def copied(x, scale=1.0):
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, scale)
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm, name="out")
    nisa.dma_copy(out, tile)
    return out


def opcodes(program):
    return [NAMES[code] for code in program.tables["instructions"]["opcode"]]


def attributes(program, instruction):
    return program.attributes[program.tables["instructions"]["attributes"][instruction]]


def test_a_kernel_becomes_one_row_per_instruction_with_its_own_lines():
    program = trace(copied, X)
    start = copied.__code__.co_firstlineno
    assert opcodes(program) == ["dma_copy", "tensor_scalar", "dma_copy"]
    assert [line - start for line in program.tables["instructions"]["line"]] == [2, 3, 5]
    assert [line - start for line in program.tables["tensors"]["line"][1:]] == [1, 4]
    assert list(program.names) == ["x", "", "out"]


def test_an_address_in_hbm_is_a_byte_and_on_chip_has_a_partition_before_it():
    def kernel(x):
        tile = nl.ndarray(x.shape, x.dtype, address=(0, 4096))
        held = nl.ndarray(x.shape, x.dtype, nl.private_hbm, address=(65536,))
        nisa.dma_copy(tile, x)
        nisa.dma_copy(held, tile)
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        nisa.dma_copy(out, held)
        return out

    rows = trace(kernel, X).tables["tensors"]
    placed = zip(rows["address_partition"].tolist(), rows["address_byte"].tolist(), strict=True)
    assert [place for place in placed if place[1] != NONE] == [(0, 4096), (0, 65536)]


@pytest.mark.parametrize(("buffer", "address"), [(nl.sbuf, (4096,)), (nl.private_hbm, (0, 1, 2)), (nl.sbuf, ())])
def test_what_is_no_address_is_refused(buffer, address):
    with pytest.raises(TraceError, match="is no address") as error:
        trace(lambda x: nl.ndarray(x.shape, x.dtype, buffer, address=address), X)
    assert error.value.code == "NKI-ARGUMENT"


def test_a_traced_program_is_valid_and_survives_the_wire():
    program = trace(copied, X)
    validate(program)
    assert decode(program.encode()).digest() == program.digest()


def test_equal_accesses_and_attributes_are_stored_once():
    def twice(x):
        tile = nl.ndarray(x.shape, x.dtype)
        for _ in range(10):
            nisa.dma_copy(tile[:, 0:256], x[:, 0:256])

    program = trace(twice, X)
    assert len(program) == 10
    assert len(program.tables["accesses"]["tensor"]) == 2
    assert len(program.tables["pairs"]["step"]) == 2  # both walk rows of 512
    assert len(program.attributes) == 1


def test_numbers_of_another_type_or_sign_are_not_the_same_attribute():
    def fills(x):
        tile = nl.ndarray((128, 4), nl.float32)
        for value in (0.0, -0.0, 0, False):
            nisa.memset(tile, value)

    assert [repr(record["value"]) for record in trace(fills, X).attributes] == ["0.0", "-0.0", "0", "False"]


def test_only_shape_and_dtype_of_arguments_count():
    assert trace(copied, X).digest() == trace(copied, ArraySpec((128, 512), "float32")).digest()
    assert trace(copied, X, scale=2.0).digest() != trace(copied, X).digest()


def test_tensors_are_counted_in_the_order_of_the_call_also_inside_lists_and_keywords():
    def kernel(scale, pair, *, last):
        return (pair[1], last)

    args: Any = (2.0, [X, X.astype(np.float16)])
    kwargs: Any = {"last": X.astype(np.int32)}
    program = trace(kernel, *args, **kwargs)
    tensors = program.tables["tensors"]
    assert list(tensors["argument"]) == [0, 1, 2]
    assert [array.dtype for array in tensor_arguments(args, kwargs)] == [np.float32, np.float16, np.int32]
    assert all(ROLES[role] == "input" for role in tensors["role"])
    returned = [program.tables["accesses"]["tensor"][access] for access in program.tables["outputs"]["access"]]
    assert returned == [1, 2]


def test_numpy_scalars_are_python_scalars_to_the_kernel():
    def kernel(x, factor):
        assert type(factor) is float
        return copied(x, factor)

    trace(kernel, X, np.float32(0.5))


def test_a_jitted_kernel_a_partial_and_a_plain_function_give_one_program():
    digests = {trace(kernel, X).digest() for kernel in (copied, jit(copied), jit()(copied), functools.partial(copied))}
    assert len(digests) == 1


def test_what_the_kernel_prints_while_it_is_traced_is_kept(capsys):
    def talkative(x):
        print("shape", x.shape)  # noqa: T201

    assert trace(talkative, X).printed == "shape (128, 512)\n"
    assert capsys.readouterr().out == ""


def test_constants_of_the_text_are_stored_once():
    def kernel(x):
        first, second = nl.shared_identity_matrix(4, nl.float32), nl.shared_identity_matrix(4, nl.float32)
        table = nl.shared_constant(np.arange(6, dtype=np.int32))
        nisa.tensor_tensor(nl.ndarray((4, 4), nl.float32), first, second, nl.add)
        tile = nl.ndarray((6, 1), nl.int32)
        nisa.dma_copy(tile, table)

    program = trace(kernel, X)
    assert [constant.shape for constant in program.constants] == [(4, 4), (6,)]
    memories = [MEMORIES[memory] for memory in program.tables["tensors"]["memory"]]
    assert memories == ["shared_hbm", "sbuf", "shared_hbm", "sbuf", "sbuf"]
    validate(program)


def test_members_of_enumerations_are_plain_numbers_whatever_they_call_themselves():
    class Level(enum.IntEnum):
        ONE = 1
        TWO = 2

        def __repr__(self):
            return "level"

    def kernel(x):
        tile = nl.ndarray((4, 4), nl.float32)
        for level in Level:
            nisa.activation(tile, nl.copy, tile, bias=0.0, scale=level)

    program = trace(kernel, X)
    records = program.tables["instructions"]["attributes"].tolist()
    assert [program.attributes[record]["scale_value"] for record in records] == [1, 2]


def test_constants_are_kept_in_the_bytes_of_their_format():
    def kernel(x):
        nl.shared_constant(np.full((1, 4), 3, np.uint8).view(np.bool_))

    assert trace(kernel, X).constants[0].view(np.uint8).tolist() == [[1, 1, 1, 1]]


def test_a_zero_keeps_its_sign_whatever_number_it_is():
    def kernel(x):
        for zero in (np.float64(0.0), np.float64(-0.0), 0.0, -0.0, np.float32(-0.0)):
            nisa.memset(nl.ndarray((4, 4), nl.float32), zero)

    program = trace(kernel, X)
    values = [program.attributes[record]["value"] for record in program.tables["instructions"]["attributes"]]
    assert [math.copysign(1.0, value) for value in values] == [1, -1, 1, -1, -1]
    assert {type(value) for value in values} == {float}


def test_a_constant_holds_what_its_array_held_when_it_was_given():
    def kernel(x):
        table = np.zeros((1, 4), dtype=np.float32)
        for value in (1.0, 2.0):
            nisa.dma_copy(nl.ndarray((1, 4), nl.float32), nl.shared_constant(table))
            table[:] = value

    assert [constant[0, 0] for constant in trace(kernel, X).constants] == [0.0, 1.0]


@pytest.mark.parametrize("kind", [nisa.VirtualRegister, nisa.NkiScalar])
def test_a_kernel_makes_no_register_by_a_number_for_its_caller_may_hold_that_one(kind):
    with pytest.raises(TraceError, match=r"nisa\.register_alloc"):
        kind(0)


def test_no_trace_outlives_its_run():
    trace(copied, X)
    with pytest.raises(TraceError, match="outside of a kernel"):
        nl.ndarray((1, 1), nl.float32)


def test_a_tensor_of_another_run_is_refused():
    kept = []

    def hoards(x):
        kept.append(nl.ndarray((128, 512), nl.float32))
        nisa.dma_copy(kept[0], x)

    trace(hoards, X)
    with pytest.raises(TraceError, match="another run"):
        trace(hoards, X)


class TestAccumulation:
    """Whether a matmul adds is settled while tracing, where that is possible."""

    def flags(self, kernel):
        program = trace(kernel, X)
        return [attributes(program, row)["accumulate"] for row, op in enumerate(opcodes(program)) if op == "nc_matmul"]

    def operands(self, x):
        return nl.ndarray((128, 128), nl.float32), nl.ndarray((128, 512), nl.float32)

    def test_the_first_write_of_a_region_overwrites_and_later_ones_add(self):
        def kernel(x):
            left, right = self.operands(x)
            for _ in range(2):
                total = nl.ndarray((128, 512), nl.float32, nl.psum)
                for _ in range(3):
                    nisa.nc_matmul(total, left, right)

        assert self.flags(kernel) == [False, True, True] * 2

    def test_halves_of_a_tile_start_by_themselves_and_the_whole_then_adds(self):
        def kernel(x):
            left, right = self.operands(x)
            total = nl.ndarray((128, 512), nl.float32, nl.psum)
            nisa.nc_matmul(total[:, :256], left, right[:, :256])
            nisa.nc_matmul(total[:, 256:], left, right[:, 256:])
            nisa.nc_matmul(total, left, right)

        assert self.flags(kernel) == [False, False, True]

    def test_a_region_that_is_written_in_part_needs_a_word(self):
        def kernel(x):
            left, right = self.operands(x)
            total = nl.ndarray((128, 512), nl.float32, nl.psum)
            nisa.nc_matmul(total[:, :256], left, right[:, :256])
            nisa.nc_matmul(total, left, right)

        with pytest.raises(TraceError) as error:
            trace(kernel, X)
        assert error.value.code == "NKI-ACCUMULATE"

    def test_inside_a_dynamic_loop_only_execution_knows(self):
        def kernel(x):
            left, right = self.operands(x)
            total = nl.ndarray((128, 512), nl.float32, nl.psum)
            nl.fori_loop(0, 4, lambda i: nisa.nc_matmul(total, left, right))

            nisa.nc_matmul(total, left, right)

        assert self.flags(kernel) == [None, None]

    def test_a_tile_of_the_loops_own_starts_anew_in_each_iteration(self):
        def kernel(x):
            left, right = self.operands(x)

            def body(i):
                total = nl.ndarray((128, 512), nl.float32, nl.psum)
                nisa.nc_matmul(total, left, right)
                nisa.nc_matmul(total, left, right)

            nl.fori_loop(0, 4, body)

        assert self.flags(kernel) == [False, True]


class TestLoops:
    """Dynamic loops are regions whose bodies stand in the program once."""

    def test_a_counted_loop_has_bounds_of_numbers_and_registers(self):
        def kernel(x):
            count = nl.ndarray((1, 1), nl.int32)
            bound = nisa.register_alloc(7)
            nisa.register_load(bound, count)
            tile = nl.ndarray((1, 512), x.dtype)
            nl.fori_loop(1, bound, lambda i: nisa.dma_copy(tile, x.ap([[512, 1], [1, 512]], scalar_offset=i)), step=2)

        program = trace(kernel, X)
        region = {name: int(column[0]) for name, column in program.tables["regions"].items()}
        assert (region["lower"], region["step"], region["upper_register"], region["parent"]) == (1, 2, 0, NONE)
        assert (region["first"], region["last"]) == (2, 3)
        assert list(program.tables["instructions"]["region"]) == [NONE, NONE, 0]
        row = program.operands(2)[1]
        assert program.tables["accesses"]["scalar_register"][row] == region["register"]
        assert program.tables["accesses"]["scalar_step"][row] == 512
        validate(program)

    def test_a_while_loop_takes_its_next_condition_from_what_the_body_returns(self):
        def kernel(x):
            flag = nl.ndarray((1, 1), nl.int32)
            start = nisa.register_alloc(1)

            def body(condition):
                following = nisa.register_alloc()
                nisa.register_load(following, flag)
                return following

            nl.while_loop(start, body)

        program = trace(kernel, X)
        assert opcodes(program) == ["register_move", "register_move", "register_load", "register_move"]
        assert program.registers == 3
        validate(program)

    def test_loops_nest(self):
        def kernel(x):
            tile = nl.ndarray((1, 1), x.dtype)
            nl.fori_loop(0, 2, lambda i: nl.fori_loop(0, 3, lambda j: nisa.memset(tile, 0.0)))

        regions = trace(kernel, X).tables["regions"]
        assert list(regions["parent"]) == [NONE, 0]
        assert list(regions["last"]) == [1, 1]

    def test_dynamic_range_ends_with_0_6(self):
        def kernel(x):
            tile = nl.ndarray((1, 1), x.dtype)
            for _ in nl.dynamic_range(4):
                nisa.memset(tile, 0.0)

        assert len(trace(kernel, X, version="0.6")) == 1
        with pytest.raises(TraceError, match="fori_loop"):
            trace(kernel, X)

    def test_no_dynamic_loop_inside_no_reorder(self):
        def kernel(x):
            with nl.no_reorder():
                nl.fori_loop(0, 2, lambda i: None)

        with pytest.raises(TraceError, match="no_reorder"):
            trace(kernel, X)


@pytest.mark.parametrize("nested", [True, False])
def test_numbers_are_pythons_wherever_a_kernel_is_called_from(nested):
    found = []

    @jit
    def kernel(x, factor, sizes, last=0):
        found.extend(map(type, [factor, *sizes, last]))
        return copied(x)

    def caller(x):
        return kernel(x, np.float64(2.0), (np.int32(3),), last=np.float32(1.0))

    trace(caller if nested else kernel, X, *(() if nested else (np.float64(2.0), (np.int32(3),), np.float32(1.0))))
    assert found == [float, int, float]


class TestCores:
    """A launch on two cores is one program that shares memory."""

    def test_two_cores_share_outputs_and_keep_their_tiles(self):
        def kernel(x):
            core, half = nl.program_id(0), x.shape[0] // nl.num_programs(0)
            out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
            tile = nl.ndarray((half, 512), x.dtype)
            rows = nl.ds(core * half, half)
            nisa.dma_copy(tile, x[rows])
            nisa.core_barrier(out, (0, 1))
            nisa.dma_copy(out[rows], tile)
            return out

        program = trace(jit(kernel)[2], X)
        assert program.cores == 2
        assert list(program.tables["instructions"]["core"]) == [0, 0, 0, 1, 1, 1]
        assert list(program.tables["tensors"]["core"]) == [0, 0, 0, 1]
        assert len(program.tables["outputs"]["access"]) == 1
        assert opcodes(trace(kernel, X)) == ["dma_copy", "dma_copy"]
        validate(program)

    @pytest.mark.parametrize("ask", [nl.program_id, nl.num_programs])
    def test_cores_stand_on_one_axis(self, ask: Any):
        def kernel(x):
            ask(1)
            return copied(x)

        with pytest.raises(TraceError) as caught:
            trace(jit(kernel)[2], X)
        assert caught.value.code == "NKI-ARGUMENT"

    def test_programs_are_counted_with_an_axis_or_without(self):
        def kernel(x):
            counts.append((nl.num_programs(0), nl.num_programs(axes=0), nl.num_programs()))
            return copied(x)

        counts: list[tuple[int, ...]] = []
        trace(jit(kernel)[2], X)
        assert set(counts) == {(2, 2, 2)}

    def test_a_launch_has_an_axis_where_it_has_brackets(self):
        def kernel(x):
            axes.append(nl.program_ndim())
            return copied(x)

        axes: list[int] = []
        for launched in (kernel, jit(kernel), jit(kernel)[1], jit(lambda x: jit(kernel)(x))[1], jit(kernel)[2]):
            trace(launched, X)
        assert axes == [0, 0, 1, 1, 1, 1]

    def test_cores_that_share_differently_are_refused(self):
        def kernel(x):
            return nl.ndarray((128, 1 + nl.program_id(0)), x.dtype, nl.shared_hbm)

        with pytest.raises(TraceError) as error:
            trace(jit(kernel)[2], X)
        assert error.value.code == "NKI-LNC"

    def test_a_second_core_that_leaves_a_shared_tensor_out_is_refused(self):
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
            if nl.program_id(0) == 0:
                nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
            return out

        with pytest.raises(TraceError, match="different shared tensors") as error:
            trace(jit(kernel)[2], X)
        assert error.value.code == "NKI-LNC"

    @pytest.mark.parametrize("names", ["{core}", "twice"])
    def test_what_cores_share_has_one_name_on_both_and_each_another(self, names):
        def kernel(x):
            core = nl.program_id(0)
            first, second = (names.format(core=f"{part}{core}") for part in ("a", "b"))
            nl.ndarray(x.shape, x.dtype, nl.shared_hbm, name=first)
            nl.ndarray(x.shape, x.dtype, nl.shared_hbm, name=second)
            return nl.ndarray(x.shape, x.dtype, nl.shared_hbm)

        with pytest.raises(TraceError, match="named") as error:
            trace(jit(kernel)[2], X)
        assert error.value.code == "NKI-LNC"
        if names == "twice":
            with pytest.raises(TraceError, match="links those of one name"):
                trace(jit(kernel)[1], X)
        else:
            assert trace(jit(kernel)[1], X).cores == 1

    def test_constants_take_no_part_in_the_order_of_what_cores_share(self):
        def kernel(x):
            if nl.program_id(0) == 0:
                nl.shared_constant(np.ones((128, 512), np.float32))
            else:
                nl.shared_constant(np.full((128, 512), 2.0, np.float32))
            return nl.ndarray(x.shape, x.dtype, nl.shared_hbm)

        program = trace(jit(kernel)[2], X)
        rows = program.tables["tensors"]
        assert [float(program.constants[index][0, 0]) for index in rows["constant"] if index >= 0] == [1.0, 2.0]
        assert list(rows["core"]) == [0, 0, 0, 1]

    @pytest.mark.parametrize(("cores", "buffer"), [(2, nl.shared_hbm), (2, nl.private_hbm), (1, nl.shared_hbm)])
    def test_two_cores_allocate_nothing_that_they_share_in_a_loop(self, cores, buffer):
        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
            nl.fori_loop(0, 2, lambda _: nisa.dma_copy(nl.ndarray(x.shape, x.dtype, buffer), x))
            return out

        if cores == 1 or buffer is nl.private_hbm:
            trace(jit(kernel)[cores], X)
            return
        with pytest.raises(TraceError, match="in the body of a loop") as error:
            trace(jit(kernel)[cores], X)
        assert error.value.code == "NKI-LNC"

    def test_a_kernel_that_is_launched_on_two_is_not_called_inside_of_one_on_another_number(self):
        with pytest.raises(NotSimulated, match="inside of another"):
            trace(lambda x: jit(copied)[2](x), X)
        assert trace(jit(lambda x: jit(copied)[2](x))[2], X).cores == 2
        assert trace(jit(lambda x: jit(copied)(x))[2], X).cores == 2

    def test_cores_that_return_different_tensors_are_refused(self):
        def kernel(x):
            first, second = (nl.ndarray(x.shape, x.dtype, nl.shared_hbm) for _ in range(2))
            return second if nl.program_id(0) else first

        with pytest.raises(TraceError, match="return different tensors") as error:
            trace(jit(kernel)[2], X)
        assert error.value.code == "NKI-LNC"

    def test_a_shared_constant_holds_the_same_on_both_cores(self):
        def kernel(x, step):
            out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
            nl.shared_constant(np.zeros((2, 2), np.float32))
            kept = nl.shared_constant(np.full(x.shape, 1.0 + step * nl.program_id(0), np.float32))
            nisa.dma_copy(out, kept)
            return out

        assert trace(jit(kernel)[2], X, 0.0).cores == 2
        with pytest.raises(TraceError, match=r"shared_constant has other data on the second core") as error:
            trace(jit(kernel)[2], X, 1.0)
        assert error.value.code == "NKI-LNC"

    @pytest.mark.parametrize("buffer", [nl.sbuf, nl.private_hbm])
    def test_a_tile_that_one_core_keeps_for_the_other_is_refused(self, buffer):
        kept = []

        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
            kept.append(nl.ndarray(x.shape, x.dtype, buffer))
            nisa.dma_copy(kept[0], x)
            nisa.dma_copy(out, kept[0])
            return out

        with pytest.raises(TraceError, match="other core") as error:
            trace(jit(kernel)[2], X)
        assert error.value.code == "NKI-LNC"
        assert "sendrecv" in error.value.remedy

    def test_there_is_no_launch_on_four(self):
        with pytest.raises(TraceError, match="4 cores"):
            trace(jit(copied)[4], X)


def beta1_mask(x):
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.tensor_copy(tile, tile, mask=True)


def beta1_result(x):
    tile = nl.ndarray(x.shape, x.dtype)
    return nl.exp(nisa.tensor_tensor(tile, tile, tile, nl.add))


def beta1_operator(x):
    tile = nl.ndarray(x.shape, x.dtype)
    return tile + tile


def beta1_arange(x):
    return x[nl.arange(128)]


def no_dst(x):
    nisa.tensor_tensor(data1=x, data2=x, op=nl.add)


def fails_itself(x):
    assert x.shape == (1, 1), "wrong shape"


def own_error(x):
    return {}["missing"]


def wrong_shape(x):
    nisa.tensor_tensor(
        nl.ndarray((128, 4), x.dtype), nl.ndarray((128, 5), x.dtype), nl.ndarray((128, 4), x.dtype), nl.add
    )


def wrong_operand(x):
    nisa.tensor_copy(nl.ndarray((128, 4), x.dtype), 3.0)


def wrong_operation(x):
    tile = nl.ndarray((128, 4), x.dtype)
    nisa.activation(tile, nl.add, tile)


def operation_by_name(x):
    tile = nl.ndarray((128, 4), x.dtype)
    nisa.tensor_tensor(tile, tile, tile, "add")


def wrong_engine(x):
    tile = nl.ndarray((128, 4), x.dtype)
    nisa.tensor_tensor(tile, tile, tile, nl.add, engine=nisa.engine.scalar)


def partition_reduction(x):
    tile = nl.ndarray((128, 4), x.dtype)
    nl.sum(tile, axis=0)


def contraction(x):
    nisa.nc_matmul(nl.ndarray((4, 4), x.dtype, nl.psum), nl.ndarray((128, 4), x.dtype), nl.ndarray((64, 4), x.dtype))


def in_hbm(x):
    return nl.exp(x)


def returns_number(x):
    return 3


def foreign_dtype(x):
    nl.ndarray((4, 4), nl.float8_e4m3fn)


def unknown_name(x):
    nisa.tensor_copi(x, x)


def of_trainium3(x):
    nisa.nc_matmul_mx(x, x)


REFUSED = {
    beta1_mask: ("NKI-BETA1", 2, "slice"),
    beta1_result: ("NKI-TYPE", 2, "tile"),
    beta1_operator: ("NKI-OPERATOR", 2, "nl.add"),
    beta1_arange: ("NKI-BETA1", 1, "nl.ds"),
    no_dst: ("NKI-BETA1", 1, "dst"),
    fails_itself: ("NKI-ASSERT", 1, ""),
    own_error: ("NKI-PYTHON", 1, ""),
    wrong_shape: ("NKI-SHAPE", 1, "slice"),
    wrong_operand: ("NKI-TYPE", 1, "dst"),
    wrong_operation: ("NKI-OPERATION", 2, "nl.exp"),
    operation_by_name: ("NKI-OPERATION", 2, "nl.add"),
    wrong_engine: ("NKI-ENGINE", 2, "vector"),
    partition_reduction: ("NKI-AXIS", 2, "transpose"),
    contraction: ("NKI-SHAPE", 1, "contraction"),
    in_hbm: ("NKI-MEMORY", 1, "nl.load"),
    returns_number: ("NKI-OUTPUT", None, "shared_hbm"),
    foreign_dtype: ("NKI-NOT-SIMULATED", 1, "float8_e4m3"),
    unknown_name: ("NKI-UNKNOWN", 1, "tensor_copy"),
    of_trainium3: ("NKI-NOT-SIMULATED", 1, "nc_matmul"),
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_what_cannot_become_a_program_is_refused_with_code_line_and_remedy(kernel):
    code, line, remedy = REFUSED[kernel]
    with pytest.raises(TraceError) as error:
        trace(kernel, X)
    assert error.value.code == code
    assert error.value.line == (None if line is None else kernel.__code__.co_firstlineno + line)
    assert remedy in error.value.remedy


def test_what_nki_has_and_the_simulator_has_not_is_an_error_of_its_own():
    with pytest.raises(NotSimulated):
        trace(of_trainium3, X)


def test_arguments_of_formats_that_the_chip_lacks_are_refused():
    with pytest.raises(TraceError, match="float64"):
        trace(copied, X.astype(np.float64))


def test_engines_follow_the_documented_choices():
    def kernel(x):
        floats, integers = nl.ndarray((32, 32), nl.float32), nl.ndarray((32, 32), nl.int32)
        psum = nl.ndarray((32, 32), nl.float32, nl.psum)
        nisa.tensor_tensor(floats, floats, floats, nl.add)
        nisa.tensor_tensor(integers, integers, integers, nl.add)
        nisa.tensor_tensor(integers, integers, integers, nl.bitwise_and)
        nisa.tensor_tensor(floats, floats, floats, nl.power)
        nisa.nc_transpose(psum, floats)
        nisa.nc_transpose(floats, psum)
        nisa.tensor_copy(floats, floats, engine=nisa.scalar_engine)
        nisa.tensor_scalar(floats, floats, nl.add, 1.0)
        nisa.tensor_scalar(floats, floats, nl.add, 1.0, op1=nl.rsqrt)

    program = trace(kernel, X)
    engines = [ENGINES[engine] for engine in program.tables["instructions"]["engine"]]
    assert engines == ["vector", "gpsimd", "vector", "gpsimd", "tensor", "vector", "scalar", "vector", "gpsimd"]


def test_a_transfer_names_the_engine_that_triggers_it_only_if_the_kernel_does():
    def kernel(x):
        tile = nl.ndarray(x.shape, x.dtype)
        nisa.dma_copy(tile, x)
        nisa.dma_copy(tile, x, engine=nisa.engine.sync)

    assert [record["trigger"] for record in trace(kernel, X).attributes] == ["unknown", "sync"]


def test_an_instruction_depends_on_what_was_written_before_it_in_its_own_loops():
    def kernel(x, how):
        t, handles = nl.load(x), []
        handles.append(nisa.reciprocal(t, t))
        nl.fori_loop(0, 2, lambda index: handles.append(nisa.reciprocal(t, t).depends_on(handles[0])))
        handles.append(nisa.reciprocal(t, t).depends_on(handles[0]))
        if how == "later":
            handles[0].depends_on(handles[2])
        if how == "out of a loop":
            handles[2].depends_on(handles[1])
        out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
        nl.store(out, t)
        return out

    trace(kernel, X, "before")
    with pytest.raises(TraceError, match=r"NKI-NOT-SIMULATED.*a later one"):
        trace(kernel, X, "later")
    with pytest.raises(TraceError, match=r"NKI-CONTROL.*a loop on the device that it is not in"):
        trace(kernel, X, "out of a loop")
