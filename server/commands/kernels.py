"""The main job: open, profile, verify, benchmark, revert, finish. The guard advises here and never refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nki_anvil.server.commands.exits import OUTCOMES, PASSED, REJECTED
from nki_anvil.server.commands.line import app
from nki_anvil.server.commands.options import Json, Kernel, Plan, Problem, references, text


@app.command("open")
def open_(
    context: typer.Context,
    reference: Annotated[
        str, typer.Argument(help="Reference module, problem folder, or seed:<name>.", autocompletion=references)
    ],
    kernel: Annotated[Path | None, typer.Option("--kernel", "-k", help="Starting kernel.")] = None,
    name: Annotated[str | None, typer.Option(help="Name to give it.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Relative L2 error; only tighter.")] = None,
    chip: Annotated[str, typer.Option(help="Target chip.")] = "trn2",
    backend: Annotated[str | None, typer.Option(help="Where kernels run.")] = None,
    as_json: Json = False,
) -> None:
    """Open a problem; verify and measure its starting kernel."""
    from nki_anvil.tools.open_problem import open_problem

    opened = context.obj.call(
        open_problem,
        reference=reference,
        kernel_path=text(kernel),
        name=name,
        tolerance=tolerance,
        chip=chip,
        backend=backend,
    )
    raise typer.Exit(PASSED if opened.baseline else REJECTED)


@app.command()
def verify(
    context: typer.Context, problem: Problem = None, kernel: Kernel = None, plan: Plan = None, as_json: Json = False
) -> None:
    """Judge whether a kernel is right."""
    from nki_anvil.tools.verify_kernel import verify_kernel

    verdict = context.obj.call(verify_kernel, problem=problem, kernel_path=text(kernel), plan=plan)
    raise typer.Exit(PASSED if verdict.passed else REJECTED)


@app.command()
def benchmark(
    context: typer.Context, problem: Problem = None, kernel: Kernel = None, plan: Plan = None, as_json: Json = False
) -> None:
    """Decide whether a verified kernel is faster than best."""
    from nki_anvil.tools.benchmark_kernel import benchmark_kernel

    measured = context.obj.call(benchmark_kernel, problem=problem, kernel_path=text(kernel), plan=plan)
    raise typer.Exit(OUTCOMES[measured.outcome])


@app.command()
def profile(
    context: typer.Context,
    problem: Problem = None,
    kernel: Kernel = None,
    compare_to: Annotated[str, typer.Option(help="best, baseline, or a digest.")] = "best",
    as_json: Json = False,
) -> None:
    """Show where a kernel's time goes."""
    from nki_anvil.tools.profile_kernel import profile_kernel

    context.obj.call(profile_kernel, problem=problem, kernel_path=text(kernel), compare_to=compare_to)


@app.command()
def status(
    context: typer.Context,
    problem: Problem = None,
    metrics: Annotated[bool, typer.Option("--metrics", help="Counts of the whole workspace, for Prometheus.")] = False,
    as_json: Json = False,
) -> None:
    """Show where a problem stands."""
    from nki_anvil.tools.problem_status import problem_status

    if metrics:
        from nki_anvil.server.metrics import collect

        context.obj.do(collect)
        raise typer.Exit(PASSED)
    context.obj.call(problem_status, problem=problem)


@app.command()
def revert(context: typer.Context, problem: Problem = None, as_json: Json = False) -> None:
    """Put the best kernel back into the working file. What stands there is kept as an attempt."""
    from nki_anvil.tools.revert_to_best import revert_to_best

    context.obj.call(revert_to_best, problem=problem)


@app.command()
def reflect(
    context: typer.Context,
    problem: Annotated[str, typer.Argument(help="Open problem.")],
    attempt: Annotated[int, typer.Argument(help="Number of the attempt.")],
    diagnosis: Annotated[str, typer.Option(prompt=True, help="What you took to be the fault.")],
    change: Annotated[str, typer.Option(prompt=True, help="What you changed.")],
    expected: Annotated[str, typer.Option(prompt=True, help="What you expected.")],
    lesson: Annotated[str, typer.Option(prompt=True, help="What the outcome teaches.")],
    expected_speedup: Annotated[float | None, typer.Option(help="Expected, against best.")] = None,
    avoid: Annotated[str | None, typer.Option(help="What not to try again.")] = None,
    try_next: Annotated[str | None, typer.Option(help="What to try instead.")] = None,
    as_json: Json = False,
) -> None:
    """Write the diary entry of an attempt."""
    from nki_anvil.tools.record_reflexion import record_reflexion

    context.obj.call(
        record_reflexion,
        problem=problem,
        attempt=attempt,
        diagnosis=diagnosis,
        change=change,
        expected=expected,
        lesson=lesson,
        expected_speedup=expected_speedup,
        avoid=avoid,
        try_next=try_next,
    )


@app.command()
def finish(context: typer.Context, problem: Problem = None, as_json: Json = False) -> None:
    """Measure best against the baseline anew; write the report."""
    from nki_anvil.tools.finish_problem import finish_problem

    context.obj.call(finish_problem, problem=problem)
