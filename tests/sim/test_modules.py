"""The emulated module tree stands while it is installed, says what it lacks, and leaves nothing behind."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

from nki_anvil.sim import install
from nki_anvil.sim.errors import NotSimulated, TraceError
from nki_anvil.sim.modules import import_failure

TEXT = """
import nki
import nki.isa as nisa
import nki.language as nl
from nki.isa import dge_mode
from nki.isa.constants import oob_mode
from nki.typing import tensor


@nki.jit
def kernel(x: tensor[nl.float32], factor=2.0) -> tensor:
    tile = nl.load(x)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.tensor_scalar(tile, tile, nl.multiply, factor)
    nisa.dma_copy(out, tile, dge_mode=dge_mode.hwdge, oob_mode=oob_mode.error)
    return out
"""


@pytest.fixture
def kernel():
    namespace = {}
    with install():
        exec(compile(TEXT, "kernel.py", "exec"), namespace)
        yield namespace["kernel"]


def test_a_kernel_file_runs_as_with_the_vendors_package(kernel):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(kernel(x), 2 * x)
    assert np.array_equal(kernel(x, factor=3.0), 3 * x)
    assert np.array_equal(importlib.import_module("nki").simulate(kernel)(x), 2 * x)


def test_nothing_is_left_behind_and_what_was_hidden_comes_back(monkeypatch):
    marker = type(sys)("nki")
    monkeypatch.setitem(sys.modules, "nki", marker)
    with install():
        assert sys.modules["nki"] is not marker
        assert importlib.import_module("nki.language").add.operation == "add"
    assert sys.modules["nki"] is marker
    assert "nki.language" not in sys.modules


def test_a_patched_module_is_gone_with_the_next_installation():
    with install():
        vars(importlib.import_module("nki.language"))["add"] = None
    with install():
        assert importlib.import_module("nki.language").add is not None


def test_beta1_stands_beside_the_current_dialect():
    with install():
        assert importlib.import_module("neuronxcc.nki.language").par_dim(128) == 128
    assert "neuronxcc" not in sys.modules


@pytest.mark.parametrize(
    ("module", "name", "code", "remedy"),
    [
        ("nki.isa", "nc_matmul_mx", "NKI-NOT-SIMULATED", "nc_matmul"),
        ("nki.isa", "tensor_kopy", "NKI-UNKNOWN", "tensor_copy"),
        ("nki.language", "par_dim", "NKI-BETA1", "partitions"),
        ("nki.language", "mgrid", "NKI-BETA1", "nl.ds"),
        ("nki", "baremetal", "NKI-BETA1", "jitted"),
        ("nki.collectives", "all_reduce", "NKI-NOT-SIMULATED", ""),
    ],
)
def test_a_missing_name_says_why_and_what_is_near(module, name, code, remedy):
    with install():
        namespace = importlib.import_module(module)
        assert not hasattr(namespace, name)
        with pytest.raises(TraceError) as error:
            getattr(namespace, name)
    assert error.value.code == code
    assert remedy in error.value.remedy
    assert isinstance(error.value, NotSimulated) == (code == "NKI-NOT-SIMULATED")


def test_every_public_name_is_there():
    with install():
        for module in ("nki", "nki.language", "nki.isa", "nki.typing", "nki.collectives"):
            assert importlib.import_module(module).__name__ == module
        language, isa = sys.modules["nki.language"], sys.modules["nki.isa"]
        assert isa.engine.vector is isa.vector_engine
        assert language.hbm is language.private_hbm
        assert isa.nc_version.gen2 < isa.nc_version.gen3


def test_importing_the_simulator_alone_loads_no_numpy():
    code = "import sys, nki_anvil.sim; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_import_by_name_of_what_a_version_lacks_says_what_the_attribute_would():
    with install("0.5"):
        with pytest.raises(ImportError) as error:
            exec("from nki.language import fori_loop")
        explained = import_failure(error.value)
        assert explained is not None
        assert explained.code == "NKI-VERSION"
        assert "0.6" in explained.message
    assert import_failure(ValueError("no import")) is None


ASKING = """
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for one in (x, tile, tile[:64], x.dtype, kernel, nki.jit, nl.add, nl.sbuf, nl.tile_size, nl.program_id(0)):
        for text in (str(one), repr([one]), f"{one}", "%s" % one, str(type(one))):
            assert "anvil" not in text, text
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_no_text_of_what_a_kernel_is_given_names_the_emulation() -> None:
    """In a process of its own, as kernels are traced: classes keep the name."""
    script = f"""
import linecache
from nki_anvil.sim import install
from nki_anvil.sim.modules import sign_as_nki
from nki_anvil.sim.tracing import ArraySpec, trace
text = {ASKING!r}
linecache.cache["kernel.py"] = (len(text), None, text.splitlines(True), "kernel.py")
names = {{}}
with install():
    sign_as_nki()
    exec(compile(text, "kernel.py", "exec"), names)
    trace(names["kernel"], ArraySpec((128, 512), "float32"))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("version", ["0.4", "0.7"])
def test_sizes_of_tiles_are_an_object_of_the_language_where_a_version_lacks_some_too(version: str):
    with install(version):
        language = importlib.import_module("nki.language")
        assert isinstance(language.tile_size, language.NKIObject)
