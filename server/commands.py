"""The command line: the same functions as the tools, for people and scripts.

Exit status: 0 passed or kept, 1 rejected or reverted, 2 usage, 3 backend trouble, 4 undecided. The guard advises here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nki_anvil.backends.errors import AnvilError, BackendError, Refusal
from nki_anvil.server.console import Console
from nki_anvil.server.terminal import Terminal
from nki_anvil.server.version import VERSION
from nki_anvil.tools.benchmark_kernel import benchmark_kernel
from nki_anvil.tools.finish_problem import finish_problem
from nki_anvil.tools.open_problem import open_problem
from nki_anvil.tools.problem_status import problem_status
from nki_anvil.tools.profile_kernel import profile_kernel
from nki_anvil.tools.record_reflexion import record_reflexion
from nki_anvil.tools.revert_to_best import revert_to_best
from nki_anvil.tools.verify_kernel import verify_kernel

PASSED, REJECTED, USAGE, BACKEND, UNDECIDED = 0, 1, 2, 3, 4
OUTCOMES = {"keep": PASSED, "revert": REJECTED, "undecided": UNDECIDED}

app = typer.Typer(
    name="nki-anvil",
    help="Make NKI kernels for AWS Trainium faster, while nothing wrong gets through.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Problem = Annotated[str | None, typer.Argument(help="Open problem; may be left out where only one is open.")]
Kernel = Annotated[Path | None, typer.Option("--kernel", "-k", help="Kernel file; default: the problem's own.")]


def _as_json(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.obj.console = Console(as_json=True)


Json = Annotated[bool, typer.Option("--json", callback=_as_json, help="Print the result as JSON.")]
Plan = Annotated[str | None, typer.Option(help="What this kernel tries; kept with the attempt.")]


def run() -> None:
    """Runs the command line and exits with its status."""
    try:
        app()
    except AnvilError as error:
        Console.complain(error.text)
        raise SystemExit(status_of(error)) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def status_of(error: AnvilError) -> int:
    if isinstance(error, BackendError):
        return BACKEND
    return REJECTED if isinstance(error, Refusal) else USAGE


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    workspace: Annotated[Path | None, typer.Option(help="Folder with the kernels; default: this one.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the memory and the hidden cases.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Without a command: serve over stdio."""
    if version:
        print(VERSION)  # noqa: T201
        raise typer.Exit
    context.obj = Terminal(Console(as_json=as_json), {"workspace": workspace, "data": data})
    if context.invoked_subcommand is None:
        serve(context)


@app.command()
def serve(
    context: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of stdio.")] = False,
    host: Annotated[str | None, typer.Option(help="Address; other than loopback only with a token.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; default 8765.")] = None,
    token: Annotated[str | None, typer.Option(help="Bearer token; better given as NKI_ANVIL_TOKEN.")] = None,
) -> None:
    """Serve MCP clients, over stdio or HTTP."""
    given: dict[str, Any] = context.obj.given
    if http:
        from nki_anvil.server import http as over_http

        over_http.serve(**given, host=host, port=port, token=token)
    else:
        from nki_anvil.server import stdio

        stdio.serve(**given)


@app.command("open")
def open_(
    context: typer.Context,
    reference: Annotated[str, typer.Argument(help="Reference module, problem folder, or seed:<name>.")],
    kernel: Annotated[Path | None, typer.Option("--kernel", "-k", help="Starting kernel.")] = None,
    name: Annotated[str | None, typer.Option(help="Name to give it.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Relative L2 error; only tighter.")] = None,
    chip: Annotated[str, typer.Option(help="Target chip.")] = "trn2",
    backend: Annotated[str | None, typer.Option(help="Where kernels run.")] = None,
    as_json: Json = False,
) -> None:
    """Open a problem: pin the reference, verify and measure the starting kernel."""
    opened = context.obj.call(
        open_problem,
        reference=reference,
        kernel_path=_text(kernel),
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
    verdict = context.obj.call(verify_kernel, problem=problem, kernel_path=_text(kernel), plan=plan)
    raise typer.Exit(PASSED if verdict.passed else REJECTED)


@app.command()
def benchmark(
    context: typer.Context, problem: Problem = None, kernel: Kernel = None, plan: Plan = None, as_json: Json = False
) -> None:
    """Decide whether a verified kernel is faster than best."""
    measured = context.obj.call(benchmark_kernel, problem=problem, kernel_path=_text(kernel), plan=plan)
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
    context.obj.call(profile_kernel, problem=problem, kernel_path=_text(kernel), compare_to=compare_to)


@app.command()
def status(context: typer.Context, problem: Problem = None, as_json: Json = False) -> None:
    """Show where a problem stands."""
    context.obj.call(problem_status, problem=problem)


@app.command()
def revert(context: typer.Context, problem: Problem = None, as_json: Json = False) -> None:
    """Put the best kernel back into the working file; what stands there is kept as an attempt."""
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
    """Measure best against the baseline anew and write the report."""
    context.obj.call(finish_problem, problem=problem)


@app.command()
def audit(
    context: typer.Context,
    problem: Annotated[str | None, typer.Argument(help="Problem, or an evidence file that finish wrote.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make every stored decision again from its raw samples; exit status 1 where one does not follow from them."""
    from nki_anvil.lab import auditing

    terminal: Terminal = context.obj
    terminal.console = Console(as_json=True) if as_json else terminal.console
    if problem is not None and Path(problem).suffix == ".json":
        audited = terminal.do(lambda _: auditing.audit_evidence(Path(problem)))
    else:
        audited = terminal.do(lambda lab: auditing.audit(lab, terminal.only(lab, problem)))
    raise typer.Exit(PASSED if audited.clean else REJECTED)


@app.command()
def export(
    context: typer.Context,
    problem: Problem = None,
    to: Annotated[Path | None, typer.Option(help="File for the kernel; default <problem>.best.py.")] = None,
    as_json: Json = False,
) -> None:
    """Write the best kernel to a file and print its difference to the working file."""
    from nki_anvil.server import exporting

    terminal: Terminal = context.obj
    terminal.do(lambda lab: exporting.export(lab, terminal.only(lab, problem), to))


@app.command()
def clean(
    context: typer.Context,
    days: Annotated[float, typer.Option(help="Remove artefacts older than this.")] = 14.0,
    megabytes: Annotated[float, typer.Option(help="Then the oldest, until this much is left.")] = 1024.0,
    as_json: Json = False,
) -> None:
    """Remove compiler and profiler artefacts and old logs; never attempts."""
    from nki_anvil.server import cleaning

    terminal: Terminal = context.obj
    terminal.do(lambda lab: cleaning.clean(lab, days, megabytes))


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Say what this machine offers: protections of the kernel process, folders, versions."""
    from nki_anvil.server import doctoring

    healthy = context.obj.do(doctoring.examine)
    raise typer.Exit(PASSED if healthy else BACKEND)


@app.command()
def corpus(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder with kernels of the current dialect.")],
    match: Annotated[str, typer.Option(help="Only files, kernels or file:kernel like this.")] = "*",
    statements: Annotated[Path | None, typer.Option(help="corpus.toml; default: the folder's own.")] = None,
    python: Annotated[str, typer.Option(help="Python that runs the kernels, where references need one.")] = "",
    seconds: Annotated[float, typer.Option(help="Time for each process.")] = 120.0,
    processes: Annotated[int, typer.Option(help="Processes at a time.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a folder's kernels and compare them with their references; it runs the folder's code as you."""
    from nki_anvil.backends.corpus.child import Bounds
    from nki_anvil.lab.corpus.survey import survey

    bounds = Bounds(seconds=seconds)
    found = survey(folder, statements=statements, match=match, python=python, bounds=bounds, processes=processes)
    (Console(as_json=True) if as_json else context.obj.console).tell(found)
    raise typer.Exit(PASSED if found else REJECTED)


@app.command()
def simcheck(
    context: typer.Context,
    kernel: Annotated[Path, typer.Argument(help="Kernel file, with a corpus.toml beside it.")],
    entry: Annotated[str, typer.Option(help="Only this kernel of the file.")] = "",
    statements: Annotated[Path | None, typer.Option(help="corpus.toml; default: the one beside the file.")] = None,
    vendor_python: Annotated[
        str, typer.Option(envvar="NKI_ANVIL_VENDOR_PYTHON", help="Python that has the vendor's nki package.")
    ] = "",
    seconds: Annotated[float, typer.Option(help="Time for each process.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare this simulator with the vendor's, on the same inputs."""
    from nki_anvil.backends.corpus.child import Bounds
    from nki_anvil.lab.corpus.twins import compare

    bounds = Bounds(seconds=seconds)
    found = compare(kernel, entry=entry, statements=statements, vendor_python=vendor_python, bounds=bounds)
    (Console(as_json=True) if as_json else context.obj.console).tell(found)
    raise typer.Exit(PASSED if found else REJECTED)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
