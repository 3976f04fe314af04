"""What of a Beta 1 kernel has to change, by line."""

from __future__ import annotations

from nki_anvil.lab import porting

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
