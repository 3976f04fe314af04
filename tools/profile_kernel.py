"""The tool ``profile_kernel``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nki_anvil.backends.run import EngineTime, Gap
from nki_anvil.lab import profiling
from nki_anvil.lab.results import Difference, Profiled
from nki_anvil.lab.workbench import Workbench
from nki_anvil.tools.call import Call
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import KernelPath, Problem, Source
from nki_anvil.tools.result import LongResult
from nki_anvil.tools.wording import microseconds, percent, sentence, times

GAPS = 6
"""Gaps shown, the dearest first; the timeline holds everything."""


class ProfileKernel(LongResult):
    digest: str | None = None
    origin: str | None = None
    verified: bool | None = None
    latency_us: float | None = None
    latency_low_us: float | None = None
    latency_high_us: float | None = None
    bound_by: str | None = None
    busiest: str | None = None
    percent_of_peak: float | None = None
    percent_of_bound: float | None = None
    metrics: dict[str, float] | None = None
    engines: list[EngineTime] | None = None
    gaps: list[Gap] | None = None
    difference: Difference | None = None
    timeline: Annotated[str | None, Field(description="Resource: trace-event JSON that Perfetto opens.")] = None
    picture: Annotated[str | None, Field(description="SVG file of the engines over time, for a person.")] = None
    extra: dict[str, float] | None = None
    constants: Annotated[str | None, Field(description="Host that the model's constants were fitted to, if any.")] = (
        None
    )

    def outdated(self, bench: Workbench) -> bool:
        return self.verified != all(map(bench.passes, self.texts))


async def profile_kernel(
    call: Call,
    problem: Problem,
    kernel_path: KernelPath = None,
    source: Source = None,
    compare_to: Annotated[
        str, Field(description="best, baseline, or a digest.", examples=["best", "baseline", "3fa94c1e"])
    ] = "best",
) -> ProfileKernel:
    """Show where a kernel's time goes: what bounds it, each engine's busy time, traffic, and the gaps worth closing.

    Call it before planning a change, and after a keep. It judges nothing: an unverified kernel is profiled too and
    marked `verified: false`; do not use it to decide whether a change is faster (benchmark_kernel does). Returns
    metrics under the profiler's names (guide anvil://guides/metrics), gaps with kernel lines and advice, and the
    difference to another kernel. Seconds.
    """
    lab = await call.laboratory()
    profiled = await profiling.profile_kernel(
        lab, problem, kernel_path=kernel_path, source=source, compare_to=compare_to, report=call.report
    )
    return ProfileKernel.of(
        profiled,
        summary=_summary(profiled),
        next_steps=_next_steps(profiled),
        engines=[*profiled.engines],
        gaps=[*profiled.gaps[:GAPS]],
        constants=profiled.constants or None,
    )


def _summary(profiled: Profiled) -> str:
    share = percent(profiled.percent_of_peak, "peak") + percent(profiled.percent_of_bound, "bound")
    busiest = f", busiest is {profiled.busiest}" if profiled.busiest else ""
    against = profiled.difference
    return sentence(
        f"{microseconds(profiled.latency_us)} ({profiled.origin}){share}; {profiled.bound_by}{busiest}",
        f"{times(against.speedup)} of {against.compared_to[:12]}" if against else "",
        f"The model's constants were {profiled.constants}" if profiled.constants else "",
        "" if profiled.verified else "This kernel is not verified",
    )


def _next_steps(profiled: Profiled) -> list[str]:
    step = "query_memory: ask what helped kernels like this; then change one thing and verify_kernel."
    return (
        [step] if profiled.verified else ["verify_kernel: these numbers mean nothing while the kernel is wrong.", step]
    )


TOOL = Declaration(
    profile_kernel, title="Profile a kernel", read_only=True, destructive=False, idempotent=True, long=True
)
