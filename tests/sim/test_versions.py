"""Every NKI from 0.2 to 0.7: what a version lacks says so and what to write, earlier call forms do what they did."""

import importlib
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim import dtypes, install, versions
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.modules import emulated
from nki_anvil.sim.simulation import simulate
from nki_anvil.sim.tracing import trace

X = np.arange(24, dtype=np.float32).reshape(4, 6)
NAMES = [(module, name) for table in (versions.CAME, versions.WENT) for module in table for name in table[module]]


class Modules:
    def __init__(self, version: str) -> None:
        self.version = version
        tree: Any = emulated(version)
        self.nl: Any = tree["nki.language"]
        self.nisa: Any = tree["nki.isa"]

    def run(self, kernel, *arrays):
        return simulate(kernel, *arrays, version=self.version)

    def on_tile(self, body, array: Any = X):
        """Load the array, let the body work on its tile, store the tile."""
        nl, nisa = self.nl, self.nisa

        def kernel(x):
            tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(tile, x)
            made = body(tile)
            tile = tile if made is None else made
            out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(out, tile)
            return out

        return self.run(kernel, array)


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_every_version_runs_what_all_of_them_have(version):
    modules = Modules(version)

    def body(tile):
        modules.nisa.tensor_scalar(tile, tile, modules.nl.multiply, 2.0)

    assert np.array_equal(modules.on_tile(body), 2 * X)


@pytest.mark.parametrize(("module", "name"), [n for n in NAMES if n[0] in ("nki", "nki.language", "nki.isa")])
def test_a_name_is_there_from_the_version_that_brought_it_to_the_one_that_took_it(module, name):
    known = hasattr(
        importlib.import_module({"nki.isa": "nki_anvil.sim.isa"}.get(module, "nki_anvil.sim.language")), name
    )
    for version in versions.VERSIONS:
        tree = emulated(version)
        if versions.lacks(module, name, version):
            with pytest.raises(TraceError) as error:
                getattr(tree[module], name)
            assert error.value.code in ("NKI-VERSION", "NKI-REMOVED")
            assert error.value.remedy
            assert not hasattr(tree[module], name)
        elif known and module != "nki":
            assert hasattr(tree[module], name)


def test_a_version_that_never_was_is_refused():
    with pytest.raises(TraceError, match=r"There is no NKI 0\.9"), install("0.9"):
        pass
    with pytest.raises(TraceError, match="NKI-VERSION"):
        trace(lambda x: None, X, version="1.0")


def test_the_installed_version_is_the_one_that_kernels_are_traced_under():
    with install("0.4"):
        assert trace(lambda x: None, X).version == "0.4"
        assert trace(lambda x: None, X, version="0.5").version == "0.5"
    assert trace(lambda x: None, X).version == "0.7"


@pytest.mark.parametrize("name", versions.CAME["NkiTensor"])
def test_views_came_with_0_5(name):
    def kernel(x):
        getattr(x, name)()

    with pytest.raises(TraceError) as error:
        trace(kernel, X, version="0.4")
    if name != "reinterpret_cast":
        assert error.value.code == "NKI-VERSION"
        assert "0.5" in error.value.message


def test_functions_of_nl_that_use_views_work_before_views_were_public():
    nl = Modules("0.4").nl

    def kernel(x):
        out = nl.ndarray((4, 6), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.softmax(nl.load(x)))
        return out

    expected = np.exp(X - X.max(1, keepdims=True))
    assert np.allclose(simulate(kernel, X, version="0.4"), expected / expected.sum(1, keepdims=True), rtol=1e-5)


LARGE = np.array([[2**24 + 1, 2**30 + 1, -(2**24) - 1, 7]], np.int32)
ROUNDED = LARGE.astype(np.float32).astype(np.int32)


@pytest.mark.parametrize("engine", ["unknown", "gpsimd"])
@pytest.mark.parametrize("version", versions.VERSIONS)
def test_two_tiles_of_integers_are_added_in_float32_in_0_2_on_every_engine(version: str, engine: str):
    modules = Modules(version)

    def body(tile):
        zero = modules.nl.ndarray(tile.shape, tile.dtype, buffer=modules.nl.sbuf)
        modules.nisa.memset(zero, 0)
        modules.nisa.tensor_tensor(tile, tile, zero, modules.nl.add, engine=getattr(modules.nisa.engine, engine))

    assert np.array_equal(modules.on_tile(body, LARGE), ROUNDED if version == "0.2" else LARGE)


@pytest.mark.parametrize("version", versions.VERSIONS[1:])
def test_nl_copy_goes_through_float32_and_stays_in_its_memory_up_to_0_5(version: str):
    modules, scalar = Modules(version), version in ("0.3", "0.4", "0.5")
    seen: list[object] = []

    def body(tile):
        held = modules.nl.ndarray(tile.shape, tile.dtype, buffer=modules.nl.psum)
        modules.nisa.tensor_copy(held, tile)
        seen.append(modules.nl.copy(held).buffer)
        return modules.nl.copy(tile)

    assert np.array_equal(modules.on_tile(body, LARGE), ROUNDED if scalar else LARGE)
    assert seen == [modules.nl.psum if scalar else modules.nl.sbuf]


def test_functions_of_nl_that_repeat_a_tile_lose_no_integers_where_nl_copy_does():
    modules = Modules("0.4")
    assert np.array_equal(
        modules.on_tile(lambda tile: modules.nl.broadcast_to(tile, (32, 4)), LARGE), np.repeat(LARGE, 32, axis=0)
    )


def test_sizes_of_tiles_came_later_than_the_others():
    sizes = Modules("0.3").nl.tile_size
    assert sizes.pmax == 128
    with pytest.raises(TraceError, match=r"psum_num_banks came with NKI 0\.5"):
        sizes.psum_num_banks  # noqa: B018
    assert Modules("0.5").nl.tile_size.psum_num_banks == 8


class TestForms:
    """NKI 0.2's own calls."""

    old = Modules("0.2")

    def test_a_copy_that_adds(self):
        nisa, nl = self.old.nisa, self.old.nl

        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(out, x)
            nisa.dma_copy(out, x, dst_rmw_op=nl.add)
            return out

        assert np.array_equal(self.old.run(kernel, X), 2 * X)

    def test_dma_compute_takes_its_scales_before_its_operation(self):
        nisa, nl = self.old.nisa, self.old.nl

        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            nisa.dma_compute(out, [x, x], [1.0, 1.0], nl.add)
            return out

        assert np.array_equal(self.old.run(kernel, X), 2 * X)

    def test_affine_select_takes_its_offset_third(self):
        nisa, nl = self.old.nisa, self.old.nl

        def body(tile):
            result = nl.ndarray((4, 6), nl.float32, buffer=nl.sbuf)
            nisa.affine_select(result, [[-1, 6]], 1, 1, tile, -1.0, cmp_op=nl.greater_equal)
            return result

        row, column = np.indices(X.shape)
        assert np.array_equal(self.old.on_tile(body), np.where(1 + row - column >= 0, X, -1))

    def test_register_move_takes_an_immediate(self):
        nisa, nl = self.old.nisa, self.old.nl

        def body(tile):
            register, held = nisa.register_alloc(), nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
            nisa.register_move(register, imm=7)
            nisa.register_store(held, register)
            nisa.tensor_copy(tile[0:1, 0:1], held)

        assert self.old.on_tile(body)[0, 0] == 7

    def test_axis_1_is_the_last_dimension(self):
        nisa, nl = self.old.nisa, self.old.nl

        def body(tile):
            result = nl.ndarray((4, 2), nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(result, nl.add, tile.reshape((4, 2, 3)), axis=1)
            return result

        assert np.array_equal(self.old.on_tile(body), X.reshape(4, 2, 3).sum(2))

    def test_integers_stand_for_members_of_enumerations_and_strings_for_memories(self):
        nisa, nl = self.old.nisa, self.old.nl

        def kernel(x):
            out = nl.ndarray(x.shape, x.dtype, buffer="shared_hbm")
            nisa.dma_copy(out, x, dge_mode=2)
            return out

        program = trace(kernel, X, version="0.2")
        assert program.attributes[0]["dge_mode"] == "hwdge"
        for version in ("0.3", "0.7"):
            with pytest.raises(TraceError, match=r"nl\.shared_hbm"):
                trace(kernel, X, version=version)

    def test_integers_stand_for_members_in_every_version(self):
        def kernel(x, mode):
            from nki_anvil.sim import isa, language

            out = language.ndarray(x.shape, x.dtype, buffer=language.shared_hbm)
            isa.dma_copy(out, x, dge_mode=mode)
            return out

        assert trace(kernel, X, 3).attributes[0]["dge_mode"] == "none"
        with pytest.raises(TraceError, match="no such value"):
            trace(kernel, X, 4)

    def test_a_float_fills_an_integer_tile(self):
        nisa = self.old.nisa
        assert (self.old.on_tile(lambda tile: nisa.memset(tile, 2.0) and None, X.astype(np.int32)) == 2).all()

    def test_a_dtype_that_is_the_one_of_dst_is_taken_any_other_refused(self):
        nisa, nl = self.old.nisa, self.old.nl
        assert np.array_equal(self.old.on_tile(lambda t: nisa.tensor_copy(t, t, dtype=nl.float32) and None), X)
        with pytest.raises(TraceError, match="The dtype of dst decides"):
            self.old.on_tile(lambda t: nisa.tensor_copy(t, t, dtype=nl.bfloat16) and None)

    def test_operations_are_names_only(self):
        nl = self.old.nl
        with pytest.raises(TraceError, match=r"computes since NKI 0\.3"):
            self.old.on_tile(lambda tile: nl.exp(tile))

    def test_parameters_that_came_later_are_refused_with_the_form_of_then(self):
        nisa = self.old.nisa
        with pytest.raises(TraceError, match=r"does not take accumulate= in NKI 0\.2"):
            self.old.on_tile(lambda tile: nisa.nc_matmul(tile, tile, tile, accumulate=True))

    @pytest.mark.parametrize("call", ["iota", "affine_select", "program_id", "sequential_range"])
    def test_what_has_a_default_since_0_3_was_needed(self, call: str):
        nisa, nl = self.old.nisa, self.old.nl
        calls = {
            "iota": lambda tile: nisa.iota(tile, [[1, 6]]),
            "affine_select": lambda tile: nisa.affine_select(
                tile, [[1, 6]], channel_multiplier=1, on_true_tile=tile, on_false_value=0.0
            ),
            "program_id": lambda tile: nl.program_id(),
            "sequential_range": lambda tile: nl.sequential_range(4),
        }
        with pytest.raises(TraceError, match=r"needs (offset|axis|stop)= in NKI 0\.2"):
            self.old.on_tile(calls[call])


@pytest.mark.parametrize("version", ["0.3", "0.5"])
def test_a_reduction_beside_the_result_was_needed_up_to_0_5(version: str):
    modules = Modules(version)

    def kernel(x):
        modules.nisa.tensor_scalar_reduce(x, x, modules.nl.add, 1.0, modules.nl.add)

    with pytest.raises(TraceError, match=r"needs reduce_res= in NKI 0\."):
        trace(kernel, X, version=version)


def test_a_shape_has_another_name_in_0_4_alone():
    seen = []

    def kernel(x):
        seen.append(x.reshape(new_shape=(24,)).shape)

    with pytest.raises(TraceError, match=r"without shape="):
        trace(kernel, X, version="0.5")
    trace(kernel, X, version="0.4")
    assert seen == [(24,)]


@pytest.mark.parametrize(
    "view", [lambda tile: tile[0, ...], lambda tile: tile[1, 2:4], lambda tile: tile[:, 2:4].ap([[6, 4], [1, 2]])]
)
def test_views_that_older_guides_read_otherwise_are_refused_there(view: Any):
    def kernel(x):
        view(Modules("0.4").nl.ndarray((4, 6), dtype=x.dtype))

    for version in ("0.2", "0.3", "0.4"):
        with pytest.raises(TraceError, match=r"up to NKI 0\.4"):
            trace(kernel, X, version=version)
    trace(kernel, X, version="0.5")


def test_the_third_argument_of_a_copy_is_the_one_of_its_time():
    def kernel(nisa):
        return lambda x: nisa.dma_copy(x, x, nisa.oob_mode.skip) and None

    assert trace(kernel(Modules("0.3").nisa), X, version="0.3").attributes[0]["oob_mode"] == "skip"
    with pytest.raises(TraceError, match="priority"):  # which it is there
        trace(kernel(Modules("0.7").nisa), X)


def test_list_arguments_were_refused_where_kernels_were_parsed():
    def kernel(x, stride):
        return x

    for version in ("0.3", "0.6"):
        with pytest.raises(TraceError, match="NKI-SUBSET-LIST"):
            trace(kernel, X, [1, 1], version=version)
    for version in ("0.2", "0.7"):
        trace(kernel, X, [1, 1], version=version)


@pytest.mark.parametrize("version", ["0.6", "0.7"])
def test_what_topk_finds_lies_as_a_snake_from_0_7_on(version):
    def kernel(x):
        nl, nisa = Modules(version).nl, Modules(version).nisa
        source = nl.ndarray((16, 2), dtype=nl.bfloat16, buffer=nl.sbuf)
        values = nl.ndarray((16, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
        places = nl.ndarray((16, 8), dtype=nl.uint32, buffer=nl.sbuf)
        nisa.topk(values, places, source, n=32)
        return x

    assert [record.get("snake") for record in trace(kernel, X, version=version).attributes] == [version == "0.7"]


def test_how_topk_sorts_is_not_simulated():
    def kernel(x):
        nl, nisa = Modules("0.7").nl, Modules("0.7").nisa
        tile = nl.ndarray((16, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.topk(tile, nl.ndarray((16, 8), dtype=nl.uint32, buffer=nl.sbuf), tile, 16, sorted=True)

    with pytest.raises(NotSimulated, match="sorted"):
        trace(kernel, X)


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_the_platform_is_an_argument_of_jit_in_0_2_alone(version):
    with install(version):
        jit = importlib.import_module("nki").jit
        assert jit(mode="simulation")(lambda x: x)
        with pytest.raises(TraceError, match=r"NKI-MODE.*may change what a device computes"):
            jit(additional_compile_opt="--auto-cast=all")
        if version == "0.2":
            assert jit(platform_target="trn2")(lambda x: x)
        else:
            with pytest.raises(TraceError, match=r"NKI-REMOVED.*NEURON_PLATFORM_TARGET_OVERRIDE"):
                jit(platform_target="trn2")


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_a_kernel_is_configured_by_typed_objects_from_0_7_on(version):
    with install(version):
        nki = importlib.import_module("nki")
        if version != "0.7":
            assert not hasattr(nki.compiler, "CompileConfig")
            with pytest.raises(TraceError, match=r"NKI-VERSION.*compile_config= since NKI 0\.7"):
                nki.jit(compile_config=None)
            return
        config = nki.compiler.CompileConfig(address_rotation=nki.compiler.AddressRotation.DISABLE)
        several = nki.compiler.SpecializationConfig(allow_nested_config_override=True)
        assert nki.jit(compile_config=config, specialization_config=several)(lambda x: x)
        with pytest.raises(TraceError, match=r"NKI-TYPE.*nki\.compiler\.CompileConfig"):
            nki.jit(compile_config={"barrier_check": True})


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_members_of_enumerations_are_numbers_in_0_2_alone_but_for_who_makes_descriptors(version):
    def kernel(x, named):
        Modules(version).nisa.dma_copy(x, x, **named)
        return x

    trace(kernel, X, {"dge_mode": 1}, version=version)
    if version == "0.2":
        trace(kernel, X, {"oob_mode": 0}, version=version)
    else:
        with pytest.raises(TraceError, match=r"NKI-TYPE.*oob_mode"):
            trace(kernel, X, {"oob_mode": 0}, version=version)


@pytest.mark.parametrize("version", ["0.2", "0.3", "0.7"])
def test_the_dtype_of_truths_is_the_text_that_the_stubs_have(version: str):
    with install(version):
        nl = importlib.import_module("nki.language")
        assert (str(nl.bool_), nl.bool_ == "bool", nl.bool_ == "bool_") == ("bool", True, False)
        assert dtypes.as_dtype("bool_") is dtypes.as_dtype(np.bool_) is nl.bool_
