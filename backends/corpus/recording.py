"""The emulated ``nki`` with a notebook in it: every kernel that an example calls is examined and written down."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from nki_anvil.backends.corpus.examining import Examined, examine
from nki_anvil.sim.builder import LIVE
from nki_anvil.sim.compiler import check_options
from nki_anvil.sim.kernel import Kernel
from nki_anvil.sim.modules import install

Hear = Callable[[Kernel, "list[Any]", "dict[str, Any]", Examined], None]


class Unfinished(Exception):
    """An example asked for the outputs of a kernel that did not come to its end."""


class Recorded(Kernel):
    """A kernel that is examined where a plain one would be simulated."""

    hear: Hear

    def __getitem__(self, lnc: Any) -> Kernel:
        return recorded(super().__getitem__(lnc), self.hear)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if LIVE.get(None) is not None:
            return super().__call__(*args, **kwargs)
        before = copy.deepcopy((list(args), kwargs))
        examined = examine(self, args, kwargs)
        self.hear(self, *before, examined)
        if not examined.executed:
            raise Unfinished(f"{self.function.__name__} did not come to its end")
        return examined.outputs[0] if len(examined.outputs) == 1 else tuple(examined.outputs)


def recorded(kernel: Kernel, hear: Hear) -> Recorded:
    """The same kernel, heard."""
    same = Recorded(kernel.function, kernel.cores)
    same.hear = hear
    return same


@contextmanager
def listening(hear: Hear, version: str) -> Generator[None]:
    """Install the emulated modules with every jitted function recorded."""

    def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
        check_options(options)
        if fn is None:
            return jit
        return fn if isinstance(fn, Recorded) else recorded(_kernel(fn), hear)

    with install(version):
        nki = cast("Any", sys.modules["nki"])
        nki.jit = jit
        nki.simulate = jit
        yield


def _kernel(fn: Callable[..., Any]) -> Kernel:
    return fn if isinstance(fn, Kernel) else Kernel(fn)
