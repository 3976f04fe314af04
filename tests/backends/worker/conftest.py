"""Texts are executed in the tests' own process here, whose objects are collected as ever afterwards."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    gc.unfreeze()
