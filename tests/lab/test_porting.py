"""What of a Beta 1 kernel has to change, by line."""

from __future__ import annotations

import importlib

from nki_anvil.lab import porting, porting_table
from nki_anvil.sim import install
from nki_anvil.sim.beta1.modules import public

BETA1 = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki import isa as nisa
from neuronxcc.nki.language import par_dim


@nki.jit
def kernel(x):
    sums = nl.zeros((4, par_dim(128), 512), nl.float32, buffer=nl.psum, lazy_initialization=True)
    for i in nl.affine_range(4):
        p, f = nl.mgrid[0:128, 0:512]
        tile = nl.load(x[i, p, f], mask=p < 100)
        sums[i] += nisa.nc_matmul(tile, tile)
    return nl.loop_reduce(sums, op=nl.add, loop_indices=[i])
"""


def found(construct: str) -> porting.Change:
    return next(change for change in porting.changes(BETA1) if change.construct == construct)


def test_each_construct_is_named_with_its_lines():
    assert found("nl.load").lines == (12,)
    assert found("mask=").lines == (12,)
    assert found("nl.mgrid").lines == (11,)
    assert found("psum += matmul").lines == (13,)
    assert found("block dimensions").lines == (9,)
    assert found("nl.par_dim").lines == (9,)
    assert found("lazy_initialization=").lines == (9,)
    assert found("nl.loop_reduce").lines == (14,)
    assert "returns no tile" in found("nisa.nc_matmul").instead
    assert found("import neuronxcc.nki").lines == (1, 2)


def test_the_list_follows_the_kernel_and_says_where():
    told = porting.told(BETA1)
    assert told.index("`import neuronxcc.nki`") < told.index("`nl.load`") < told.index("`nl.loop_reduce`")
    assert "- lines 1, 2: " in told


def test_a_kernel_of_the_current_dialect_needs_nothing():
    assert porting.changes("import nki\nimport nki.language as nl\nx = nl.load\n") == []
    assert "current dialect" in porting.told("import nki\n")


def test_text_that_does_not_parse_says_where():
    assert "line 2" in porting.told("import nki\nx = (\n")


def test_everything_that_beta1_offers_is_the_same_now_or_has_its_replacement():
    modules = {"nki": "nki", "nl": "nki.language", "nisa": "nki.isa"}
    with install():
        current = {short: vars(importlib.import_module(name)) for short, name in modules.items()}
    offered = [(short, name) for short, names in public().items() for name in names]
    assert len(offered) > 150
    lost = [
        f"{short}.{name}"
        for short, name in offered
        if f"{short}.{name}" not in porting_table.CALLS and name not in current.get(short, {})
    ]
    assert lost == []
    told = " ".join(names for names, _ in porting_table.rows())
    assert all(f"`{name}`" in told for name in porting_table.CALLS)


OTHERS = """from neuronxcc import nki
import neuronxcc.nki.language as nl
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.compiler as ncc
import numpy as np


@nki.jit(mode="simulation")
def kernel(x, at):
    tile = nl.ndarray((nl.par_dim(128), 512), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    tile[...] = nisa.tensor_scalar(nl.load(x), np.multiply, 2.0, op1=np.add, operand1=1.0)
    top = nisa.tensor_reduce(np.max, tile, axis=[1], dtype=np.float32)
    nisa.tensor_copy_dynamic_dst(dst=tile[0:128, at[0, 0]], src=top)
    p = nl.arange(128)
    other = tile[2 * p] * top
"""


def test_operations_of_numpy_options_and_allocators_are_named_and_dtypes_are_not():
    told = porting.told(OTHERS)
    assert "- line 11: `np.multiply` -> nl.multiply as the operation" in told
    assert "- line 11: `np.add`" in told
    assert "- line 12: `np.max` -> nl.maximum as the operation" in told
    assert "np.float32" not in told
    assert "- line 15: `operators on tiles` -> nl.multiply(a, b)" in told
    assert "- line 8: `options of nki.jit`" in told
    assert "- line 10: `nki.compiler.sbuf` -> nl.ndarray(..., address=" in told
    assert "- line 13: `nisa.tensor_copy_dynamic_dst` -> nisa.tensor_copy(dst, src)" in told
