"""Which microkernels are timed to calibrate a host, at which shapes: enough to tell the model's constants apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from types import ModuleType
from typing import Final

from nki_anvil.backends.job import Case, InputSpec, Job, ShapeSet
from nki_anvil.lab.digest import digest
from nki_anvil.sim import install
from nki_anvil.sim.program import Program
from nki_anvil.sim.tracing import ArraySpec, trace

P: Final = 128
CHAINS: Final = 4
"""So many independent chains hide the latency of an instruction behind the other three."""


@dataclass(frozen=True)
class Experiment:
    """One microkernel at one shape."""

    entry: str
    shape: tuple[int, int]
    scalars: Mapping[str, int] = field(default_factory=dict[str, int])
    dtype: str = "float32"

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.scalars.items())
        return f"{self.entry}({self.shape[0]}x{self.shape[1]} {self.dtype}{', ' if given else ''}{given})"

    def job(self, chip: str, number: int) -> Job:
        """What a backend is sent; ``number`` tells repetitions apart."""
        kernel = f"{text()}\n# timed here: {self}\n"
        inputs = (
            InputSpec(name="x", shape=self.shape, dtype=self.dtype),
            *(InputSpec(name=name, dtype="int", value=value) for name, value in self.scalars.items()),
        )
        return Job(
            purpose="benchmark",
            kernel_digest=digest(kernel),
            entry=self.entry,
            chip=chip,
            shape_sets=(ShapeSet(name=str(self), inputs=inputs),),
            cases=(Case(key="timed", shapes=str(self), seed=0),),
            round=number,
            kernel=kernel,
        )

    def program(self) -> Program:
        """The instructions it consists of: the text is this project's own, so it may be run here."""
        return trace(getattr(_module(), self.entry), ArraySpec(self.shape, self.dtype), *self.scalars.values())


def text() -> str:
    """The microkernels, as every host gets them."""
    return (resources.files("nki_anvil.resources") / "microkernels.py").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _module() -> ModuleType:
    module = ModuleType("microkernels")
    with install():
        exec(compile(text(), "microkernels.py", "exec"), module.__dict__)  # noqa: S102
    return module


def _streams(entry: str) -> tuple[Experiment, ...]:
    """Back to back and one by one, short and long."""
    return (
        Experiment(entry, (P, 256), {"count": 32, "chains": CHAINS}),
        Experiment(entry, (P, 256), {"count": 96, "chains": CHAINS}),
        Experiment(entry, (P, 2048), {"count": 64, "chains": CHAINS}),
        Experiment(entry, (P, 64), {"count": 32, "chains": 1}),
        Experiment(entry, (P, 64), {"count": 96, "chains": 1}),
    )


def _matmuls(count: int, width: int, dtype: str) -> Experiment:
    return Experiment("matmul", (P, 512), {"count": count, "width": width}, dtype)


EXPERIMENTS: Final = (
    *_streams("vector"),
    *_streams("scalar"),
    *_streams("gpsimd"),
    *_streams("pairs"),
    *(Experiment("handover", (P, 64), {"count": count}) for count in (8, 32)),
    *(Experiment("tables", (P, 64), {"count": count}) for count in (8, 32)),
    *(_matmuls(count, 512, "bfloat16") for count in (1, 4, 8, 16, 32, 64, 256)),
    *(_matmuls(count, 64, "bfloat16") for count in (64, 256)),
    *(_matmuls(count, 512, "float32") for count in (16, 64)),
    *(Experiment("copies", (count * P, width)) for width in (16, 64, 256, 1024, 4096) for count in (4, 24)),
    *(Experiment("round_trips", (P, width), {"count": count}) for width in (16, 512) for count in (4, 16)),
    *(Experiment("arrivals", (P, 64), {"count": count}) for count in (8, 32)),
)
"""About fifty; a constant is settled by differences between them, never by one alone."""
