"""The modules of Beta 1, installed for one test."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim import install


@pytest.fixture
def beta1() -> Iterator[Any]:
    with install():
        nki, nl, nisa, ncc = (
            importlib.import_module(f"neuronxcc.nki{name}") for name in ("", ".language", ".isa", ".compiler")
        )
        yield SimpleNamespace(nki=nki, nl=nl, nisa=nisa, ncc=ncc)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def close(found: Any, wanted: Any) -> bool:
    """Relative L2 of the whole, as AccelOpt judges."""
    assert found.shape == wanted.shape
    return float(np.linalg.norm(found - wanted)) <= 1e-6 * float(np.linalg.norm(wanted))
