from pathlib import Path

import pytest

ADDING = """
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def add_kernel(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    nisa.dma_copy(dst=y, src=b)
    nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)
    nisa.dma_copy(dst=out, src=x)
    return out


def add_ref(a, b):
    return a + b
"""

STATED = """
[[kernel]]
file = "adding.py"
entry = "add_kernel"
arguments = [{shape = [64, 32]}, {shape = [64, 32]}]
"""


@pytest.fixture
def adding() -> str:
    """A file with one kernel and its reference."""
    return ADDING


@pytest.fixture
def stated() -> str:
    """What a corpus.toml says of it."""
    return STATED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
