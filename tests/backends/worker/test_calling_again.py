"""What the second process asks of a kernel by calling it again."""

from __future__ import annotations

from typing import Any

import pytest

from nki_anvil.backends.worker import calling_again
from nki_anvil.backends.worker.keeping import Held


class Kept(Held):
    """Nothing, but for a cache where there is one."""

    def __init__(self, *, cached: bool) -> None:
        super().__init__({})
        self.unseen = cached


def called(trace_s: float, *, cached: bool) -> bytes:
    def traced(_: Any = None) -> bytes:
        return b"program"

    return calling_again.called_again(traced, lambda: Kept(cached=cached), [[], []], trace_s).program


def test_a_kernel_that_traces_too_slowly_to_be_called_again_may_have_no_cache() -> None:
    assert called(0.0, cached=False) == b"program"
    with pytest.raises(calling_again.CachedSlowly):
        called(0.0, cached=True)


def test_a_kernel_that_is_called_again_may_have_one() -> None:
    assert called(1e6, cached=True) == b"program"
