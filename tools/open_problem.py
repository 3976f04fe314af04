"""The tool ``open_problem``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from nki_anvil.lab import opening
from nki_anvil.lab.results import Baseline, Bound, Opened, Peak
from nki_anvil.lab.workbench import Workbench
from nki_anvil.tools.call import Call
from nki_anvil.tools.crediting import withdrawn
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.result import LongResult
from nki_anvil.tools.wording import microseconds, percent, sentence, stands_in


class OpenProblem(LongResult):
    problem: str | None = None
    kernel_path: str | None = None
    chip: str | None = None
    backend: str | None = None
    origin: str | None = None
    baseline: Baseline | None = None
    peak: Peak | None = None
    bound: Bound | None = None
    tolerance: float | None = None
    resumed: bool | None = None
    warnings: list[str] | None = None

    held: Annotated[SkipJsonSchema[str | None], Field(exclude=True)] = None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the kernel file held when this was said of it."""
        return (self.held,) if self.held else ()

    def outdated(self, bench: Workbench) -> bool:
        best = bench.best_today()
        return (self.baseline and self.baseline.digest) != (best.baseline.digest if best else None)


async def open_problem(
    call: Call,
    reference: Annotated[
        str,
        Field(
            description="Reference module (get_inputs, forward), problem folder, seed:<name>, or nkibench:<task>.",
            examples=["seed:rmsnorm", "problems/attention", "reference.py"],
        ),
    ],
    kernel_path: Annotated[str | None, Field(description="Starting kernel.", examples=["kernel.py"])] = None,
    name: Annotated[str | None, Field(description="Name to give it; default the folder's.")] = None,
    tolerance: Annotated[
        float | None, Field(description="Relative L2 error; only tighter than the problem's own.", examples=[1e-5])
    ] = None,
    chip: Annotated[str, Field(description="Target chip.", examples=["trn2"])] = "trn2",
    backend: Annotated[
        str | None, Field(description="Where kernels run; default from the settings.", examples=["simulator"])
    ] = None,
) -> OpenProblem:
    """Open an NKI kernel problem (or resume one): the first call of every optimisation.

    Pins reference, inputs and tolerance, then verifies and measures the starting kernel as the baseline. A kernel
    that fails leaves the problem open without a baseline. `seed:<name>` copies a bundled problem to kernels/<name>/
    and never overwrites. An open problem stays open across restarts; no need to open it again. Seconds for the
    seeds, minutes for large shapes.
    """
    lab = await call.laboratory()
    opened = await opening.open_problem(
        lab,
        reference,
        kernel_path=kernel_path,
        name=name,
        tolerance=tolerance,
        chip=chip,
        backend=backend,
        report=call.report,
    )
    taken = await withdrawn(call, opened.problem) if opened.resumed else ""
    return OpenProblem.of(
        opened,
        summary=sentence(_summary(opened), taken),
        next_steps=_next_steps(opened),
        warnings=[*opened.warnings],
    )


def _summary(opened: Opened) -> str:
    verb = "Resumed" if opened.resumed else "Opened"
    where = f"{verb} {opened.problem} on {opened.backend} ({opened.origin})"
    file = _FILE[opened.working_file].format(opened.kernel_path)
    if opened.baseline is None:
        known = opened.working_file == "failed"  # it says why there is none
        return sentence(where, f"There is no baseline: {opened.baseline_reason}", "" if known else file)
    share = percent(opened.baseline.percent_of_peak, "peak") + percent(opened.baseline.percent_of_bound, "bound")
    said = f"Baseline {microseconds(opened.baseline.latency_us)}{share}"
    return sentence(where, said, file, stands_in(opened.fallen))


_FILE = {
    "best": "",
    "verified": "",
    "failed": "{} holds a kernel that failed",
    "unverified": "{} holds a text without a verdict: this says nothing of it",
    "missing": "{} is gone",
}


def _next_steps(opened: Opened) -> list[str]:
    if opened.working_file == "unverified":
        return [f"verify_kernel: judge what {opened.kernel_path} holds now."]
    if opened.baseline is None:
        return [f"Edit {opened.kernel_path}, then verify_kernel: the first kernel that passes becomes the baseline."]
    if opened.working_file == "failed":
        return [f"Fix {opened.kernel_path} and verify_kernel, or revert_to_best."]
    if opened.working_file == "missing":
        return [f"revert_to_best: {opened.kernel_path} is gone."]
    return [
        "profile_kernel: see what bounds the kernel and where its time goes.",
        f"query_memory: what worked before; then edit {opened.kernel_path} and verify_kernel.",
    ]


TOOL = Declaration(
    open_problem, title="Open a kernel problem", read_only=False, destructive=False, idempotent=True, long=True
)
