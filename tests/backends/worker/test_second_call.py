"""A kernel is called behind another call of itself, in one function, and has to be the kernel that it is alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nki_anvil.sim as sim
import nki_anvil.sim.isa as nisa
import nki_anvil.sim.language as nl
from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import Job, Limits
from nki_anvil.backends.worker import bootstrap, second_call
from nki_anvil.backends.worker.second_call import RaisesBehind
from nki_anvil.sim.builder import live
from nki_anvil.sim.kernel import Kernel
from nki_anvil.sim.tracing import ArraySpec, trace

WIDE = [ArraySpec((128, 64), "float32"), 2.0]
NARROW = [ArraySpec((128, 32), "float32"), 2.0]


def is_the_kernel(function: Any, before: list[Any], inputs: list[Any], **how: Any) -> bool:
    first, own = (second_call.Call(one, trace(function, *one)) for one in (before, inputs))
    return second_call.is_the_kernel(function, [first], own, **how)


def kernel(x: Any, scale: float) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.activation(dst=tile, op=nl.copy, data=tile, scale=scale)
    nisa.dma_copy(dst=out, src=tile)
    return out


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("before", [WIDE, NARROW])
def test_a_kernel_that_keeps_nothing_is_the_same_behind_itself(before: list[Any], cores: int) -> None:
    assert is_the_kernel(Kernel(kernel, cores), before, WIDE)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("memory", ["shared_hbm", "private_hbm"])
def test_one_that_names_what_it_returns_takes_the_name_in_each_call(memory: str, cores: int) -> None:
    def naming(x: Any, scale: float) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="out")
        nisa.dma_copy(dst=out, src=kernel(x, scale))
        return out

    assert is_the_kernel(Kernel(naming, cores), WIDE, WIDE, memory=memory)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("memory", ["shared_hbm", "private_hbm"])
def test_it_is_called_with_tensors_of_its_callers_in_either_memory(memory: str, cores: int) -> None:
    def asking(x: Any, scale: float) -> Any:
        return kernel(x, 3.0 if x.buffer == nl.private_hbm else scale)

    assert is_the_kernel(Kernel(kernel, cores), WIDE, WIDE, memory=memory)
    assert is_the_kernel(Kernel(asking, cores), WIDE, WIDE, memory=memory) == (memory == "shared_hbm")


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("memory", ["shared_hbm", "private_hbm"])
def test_one_that_returns_what_it_updates_does_so_for_callers_on_as_many_cores(memory: str, cores: int) -> None:
    def adding(x: Any, scale: float) -> Any:
        rows = nl.ds(nl.program_id(0) * 64, 64) if cores > 1 else nl.ds(0, 128)
        tile = nl.ndarray(x[rows].shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[rows])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=scale)
        nisa.dma_copy(dst=x[rows], src=tile)
        return x

    assert is_the_kernel(Kernel(adding, cores), WIDE, WIDE, memory=memory)


@pytest.mark.parametrize(
    ("kind", "single"), [(np.generic, False), (np.generic, True), (np.float64, False), (np.float32, True)]
)
def test_it_is_called_with_numbers_as_its_callers_numpy_makes_them(kind: type, single: bool) -> None:
    def asking(x: Any, scale: float) -> Any:
        return kernel(x, 3.0 if isinstance(scale, kind) else scale)

    assert not is_the_kernel(asking, WIDE, WIDE, single=single)
    assert is_the_kernel(Kernel(asking), WIDE, WIDE, single=single), "a jitted one is given Python's"


def test_one_that_knows_numbers_of_python_alone_is_another() -> None:
    def floats(x: Any, scale: Any) -> Any:
        return kernel(x, scale if isinstance(scale, float) else 3.0)

    def integers(x: Any, step: Any) -> Any:
        return kernel(x, 2.0 if isinstance(step, int) else 3.0)

    assert is_the_kernel(floats, WIDE, WIDE), "np.float64 is a float"
    assert not is_the_kernel(floats, WIDE, WIDE, single=True)
    assert not is_the_kernel(integers, [WIDE[0], 7], [WIDE[0], 7])


def test_one_that_is_another_for_its_number_in_float32_is_not() -> None:
    def exact(x: Any, scale: Any) -> Any:
        return kernel(x, scale if float(scale) == 0.9 else 3.0)

    given = [WIDE[0], 0.9]
    assert is_the_kernel(exact, given, given), "np.float64 is the number"
    assert not is_the_kernel(exact, given, given, single=True)
    assert not is_the_kernel(Kernel(exact), given, given, single=True)


@pytest.mark.parametrize("scale", [0.9, 1e-6, 1e39, 1e-50, 0.0])
def test_what_numpy_computes_in_float32_is_nearly_the_same(scale: float) -> None:
    def computing(x: Any, scale: float) -> Any:
        return kernel(x, (1 - scale**3) / 7 + scale / 3)

    given = [WIDE[0], scale]
    assert is_the_kernel(computing, given, given, single=True)
    assert is_the_kernel(computing, given, given)


def test_one_that_counts_what_was_before_it_is_not() -> None:
    def counting(x: Any, scale: float) -> Any:
        nisa.register_alloc(0)
        return kernel(x, scale * live().registers)

    assert not is_the_kernel(counting, WIDE, WIDE)


def test_one_that_does_more_before_what_it_does_alone_is_another() -> None:
    def clearing(x: Any, scale: float) -> Any:
        if live().registers:
            nisa.memset(dst=nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf), value=0.0)
        nisa.register_alloc(0)
        return kernel(x, scale)

    assert not is_the_kernel(clearing, WIDE, WIDE)


def test_one_that_makes_a_tensor_and_leaves_it_is_another() -> None:
    def wasting(x: Any, scale: float) -> Any:
        if live().registers:
            nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.register_alloc(0)
        return kernel(x, scale)

    assert not is_the_kernel(wasting, WIDE, WIDE)


def test_one_that_comes_back_to_what_the_call_before_it_made_is_another() -> None:
    made: list[Any] = []

    def returning(x: Any, scale: float) -> Any:
        made.append(nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf))
        tile = made[-2] if live().registers else made[-1]
        nisa.register_alloc(0)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=tile, src=x)
        nisa.dma_copy(dst=out, src=tile)
        return out

    assert not is_the_kernel(returning, WIDE, WIDE)


def test_one_that_raises_behind_itself_is_not_excused() -> None:
    def once(x: Any, scale: float) -> Any:
        assert live().registers == 0, "once"
        nisa.register_alloc(0)
        return kernel(x, scale)

    with pytest.raises(RaisesBehind, match="once"):
        is_the_kernel(once, WIDE, WIDE)


def test_one_that_refuses_a_number_as_float32_rounds_it_is_given_its_own() -> None:
    def exact(x: Any, scale: float) -> Any:
        assert scale == 0.1
        return kernel(x, 3.0 if isinstance(scale, np.generic) else scale)

    given = [WIDE[0], 0.1]
    assert not is_the_kernel(exact, given, given, single=True)


def test_one_that_refuses_numbers_of_numpys_is_asked_with_its_own() -> None:
    def particular(x: Any, scale: float) -> Any:
        assert not isinstance(scale, np.generic)
        return kernel(x, 3.0 if x.buffer == nl.private_hbm else scale)

    assert is_the_kernel(particular, WIDE, WIDE, single=True)
    assert not is_the_kernel(particular, WIDE, WIDE, single=True, memory="private_hbm")


def test_it_may_be_called_by_name() -> None:
    def swapped(x: Any, y: Any) -> Any:
        return kernel(x, 2.0) if x.shape == y.shape else kernel(y, 2.0)

    given = [WIDE[0], NARROW[0]]
    assert is_the_kernel(swapped, given, given, names=["x", "y"])
    assert not is_the_kernel(swapped, given, given, names=["y", "x"])


def test_kernels_of_beta_1_are_called_twice_as_well() -> None:
    namespace: dict[str, Any] = {}
    with sim.install("0.7", beta1=True):
        exec(BETA1, namespace)
        assert is_the_kernel(namespace["kernel"], NARROW[:1], WIDE[:1])
        assert not is_the_kernel(namespace["another"], NARROW[:1], WIDE[:1])


BETA1 = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

calls = []

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        nl.store(out[nl.ds(i * 64, 64), :], nl.load(x[nl.ds(i * 64, 64), :]) * 2.0)
    return out

@nki.jit
def another(x):
    calls.append(float(len(calls)))
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * calls[-1])
    return out
"""

BY_WIDTH = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, scale):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.activation(dst=tile, op=nl.copy, data=tile, scale=scale / x.shape[1])
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


SLOWLY = """
    for _ in range(20000000 if x.shape == (128, 512) else 1):
        pass
    return out
"""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "trace_s"), [(BY_WIDTH, 5.0), pytest.param(BY_WIDTH.replace("    return out\n", SLOWLY), 8.0, id="slowly")]
)
@pytest.mark.parametrize("faulty", [False, True])
async def test_a_simulator_that_takes_two_instructions_for_one_is_found_out(
    text: str,
    trace_s: float,
    faulty: bool,
    backend: ChildBackend,
    job: Callable[..., Job],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if faulty:
        with_one_record_for_each_operation(tmp_path / "sim", monkeypatch)
    found = (await backend.run(job(text, limits=Limits(trace_s=trace_s)))).traces[0].error
    assert ("when a function calls it more than once" in found.message) if faulty and found else not (faulty or found)


def with_one_record_for_each_operation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find a simulator whose programs forget attributes of instructions they know."""
    places = bootstrap.places()
    shutil.copytree(places["nki_anvil.sim"][0], folder, ignore=shutil.ignore_patterns("__pycache__"))
    builder = folder / "builder.py"
    text = builder.read_text()
    faulty = text.replace("key = (opcode, _distinct(values))", "key = (opcode, ())")
    assert faulty != text
    builder.write_text(faulty)
    monkeypatch.setattr(bootstrap, "places", lambda: {**places, "nki_anvil.sim": [str(folder)]})
