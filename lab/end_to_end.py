"""Problems whose reference is a command: run with the kernel in place, judged by the accuracy that it reports.

The figures are the command's own, from a machine with the device; they are called reported, never checked here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal

import anyio
from anyio.to_thread import run_sync

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.commands import REMEDY
from nki_anvil.backends.errors import BackendFailed, BackendUnsupported, GateUnverified, ProblemChanged, ProblemInvalid
from nki_anvil.backends.job import Command, Job
from nki_anvil.backends.run import Ended, Run
from nki_anvil.backends.worker.kernel_text import parse
from nki_anvil.lab import figures
from nki_anvil.lab.digest import shorten
from nki_anvil.lab.evidence import Judgement
from nki_anvil.lab.figures import Figures, Unreadable
from nki_anvil.lab.gates import language
from nki_anvil.lab.specification import EndToEnd, Specification
from nki_anvil.lab.verdict import GATE_NAMES, GateResult, Verdict

VERIFY: Final = -1
"""Number of the round of a run that is no arm of a comparison."""
TIMER: Final = "reported by the command"
NO_SHELL: Final = (126, 127)
"""Exit statuses with which a shell says that it could not start what it was told to."""
_SHOWN: Final = 500

Which = Literal["new", "best", "only"]


class WrongWhileTimed(GateUnverified):
    """A kernel that passed, in a run whose figures are not good enough; with the verdict that this makes."""

    def __init__(self, verdict: Verdict, why: str) -> None:
        super().__init__(
            f"The kernel {shorten(verdict.kernel_digest)} passed, and now the command says otherwise: {why}",
            "Call verify_kernel, which gives the verdict that stands now.",
        )
        self.verdict = verdict


def refuse_without_device(specification: Specification, backend: Backend) -> None:
    """Raises BackendUnsupported where the problem is a command and nothing there is measured."""
    if specification.e2e is not None and backend.origin != "device":
        raise BackendUnsupported(
            f"{specification.name} is an end-to-end command, and the backend {backend.name} models kernels: the "
            "command's figures would be those of a machine without a device.",
            REMEDY,
        )


def refuse_profile(specification: Specification) -> None:
    """Raises BackendUnsupported: there is no one kernel at one shape to profile or to look at."""
    if specification.e2e is not None:
        raise BackendUnsupported(
            f"{specification.name} is an end-to-end command: there is no profile of a single kernel.",
            "Open the kernel as a problem of its own, with a reference, to profile it.",
        )


async def verify(
    specification: Specification, text: str, digest: str, *, backend: Backend, report: Report = silent
) -> Verdict:
    """One run of the command: its accuracy is the gate ``values``. Raises BackendError and ProblemInvalid."""
    command, started = _command(specification), anyio.current_time()
    judged = {"language": _language(specification, command, text)}
    toolchain, seconds = "", 0.0
    if judged["language"].passed is not False:
        run = await backend.run(await job(specification, text, digest, number=VERIFY), report)
        toolchain, seconds = run.toolchain, sum(run.seconds.values())
        judged["values"] = _values(command, _ended(run))[0]
    toolchain = toolchain or await run_sync(lambda: backend.toolchain)
    seconds = seconds or anyio.current_time() - started
    return _verdict(specification, digest, backend, toolchain, judged, seconds)


async def timed(
    specification: Specification,
    text: str,
    digest: str,
    *,
    backend: Backend,
    number: int,
    which: Which,
    core: str,
    report: Report = silent,
) -> tuple[Figures, Run]:
    """One run as one arm. Raises WrongWhileTimed where it would not have passed, and BackendError."""
    sent = await job(specification, text, digest, number=number, which=which, core=core)
    run = await backend.run(sent, report)
    judgement, found = _values(_command(specification), _ended(run))
    if found is None:
        verdict = _verdict(specification, digest, backend, run.toolchain, {"values": judgement}, 0.0)
        raise WrongWhileTimed(verdict, judgement.detail)
    return found, run


async def job(
    specification: Specification, text: str, digest: str, *, number: int, which: Which = "only", core: str = ""
) -> Job:
    """The command with the kernel in its place. Raises ProblemChanged where a file is not the one that was opened."""
    command = _command(specification)
    return Job(
        purpose="command",
        kernel_digest=digest,
        entry=specification.entry,
        chip=specification.chip,
        version=specification.nki_version,
        lnc=specification.lnc,
        shape_sets=(),
        round=number,
        arm=which,
        core=core,
        kernel=text,
        command=Command(
            line=command.command,
            kernel=command.kernel,
            result=command.result,
            files=command.files,
            cores=command.cores,
            seconds=command.seconds,
        ),
        files=await run_sync(_contents, command),
    )


def _language(specification: Specification, command: EndToEnd, text: str) -> Judgement:
    """As for any kernel, but of all that an import runs; and nothing that is no kernel may stand in the text."""
    if not command.language:
        return Judgement(None, "Not applied: [e2e] sets language = false.")
    read = language.judge(text, specification.entry, version=specification.nki_version, imported=True)
    left_out = parse(text).left_out if read.passed else ()
    if left_out:
        hint = "Leave only NKI in the kernel's file; a file that is a whole model needs language = false in [e2e]."
        return Judgement(False, f"The command would run more than the kernel: {'; '.join(left_out)}.", hint=hint)
    return read


def _command(specification: Specification) -> EndToEnd:
    assert specification.e2e is not None
    return specification.e2e


def _contents(command: EndToEnd) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, digest in command.files.items():
        path = Path(command.folder) / name
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != digest:
            raise ProblemChanged(
                f"{path} changed after the problem was opened, and what was judged before rests on it.",
                "Put it back, or open it again with open_problem under a new name.",
            )
        found[name] = data
    return found


def _ended(run: Run) -> Ended:
    if run.failure or run.ended is None:
        raise BackendFailed(f"The backend {run.backend} did not run the command: {run.failure or 'it says nothing'}.")
    return run.ended


def _values(command: EndToEnd, ended: Ended) -> tuple[Judgement, Figures | None]:
    """The gate, and the figures where it is passed. Raises ProblemInvalid for a command that cannot be started."""
    last = _last(f"{ended.complained}\n{ended.printed}")
    if ended.status is None:
        return Judgement(False, f"The command did not come to an end within {command.seconds:g} s.{last}"), None
    if ended.status in NO_SHELL:
        raise ProblemInvalid(f"The command cannot be started (status {ended.status}).{last}", "Correct [e2e] command.")
    if ended.status != 0:
        hint = "The command's last words say where it broke."
        return Judgement(False, f"The command ended with status {ended.status}.{last}", hint=hint), None
    try:
        found = figures.read(ended.result, ended.printed, command.patterns)
    except Unreadable as error:
        return Judgement(False, f"The command's figures cannot be used: {error}.{last}"), None
    return _accurate(command, found)


def _accurate(command: EndToEnd, found: Figures) -> tuple[Judgement, Figures | None]:
    least = command.accuracy_min or 0.0
    if found.accuracy is None:
        return Judgement(False, "The command reports no accuracy, and without one nothing says that it is right."), None
    said = f"The command reports an accuracy of {found.accuracy:g}"
    wanted = f"at least {least:g} is wanted" if least else "it has to be above zero"
    if found.accuracy < least or found.accuracy == 0:
        return Judgement(False, f"{said}, and {wanted}.", hint="The kernel changes the model's answers."), None
    return Judgement(True, f"{said}, {wanted}; {found.latency_ms:g} ms."), found


def _last(printed: str) -> str:
    """Its last words."""
    lines = [line.strip() for line in printed.strip().splitlines() if line.strip()]
    said = " ".join(lines[-3:])[-_SHOWN:]
    return f" It last said: {said}" if said else ""


def _verdict(
    specification: Specification,
    digest: str,
    backend: Backend,
    toolchain: str,
    judged: dict[str, Judgement],
    seconds: float,
) -> Verdict:
    gates = tuple(_gate(name, judged.get(name), judged) for name in GATE_NAMES)
    hint = next((judgement.hint for judgement in judged.values() if judgement.passed is False), "")
    return Verdict(
        problem=specification.name,
        problem_version=specification.version,
        kernel_digest=digest,
        backend=backend.name,
        origin=backend.origin,
        toolchain=toolchain,
        passed=all(gate.passed is not False for gate in gates),
        gates=gates,
        tolerance=specification.tolerance,
        hint=hint,
        warnings=next((judgement.warnings for judgement in judged.values() if judgement.warnings), ()),
        cases=1,
        seconds=seconds,
    )


def _gate(name: str, judgement: Judgement | None, judged: dict[str, Judgement]) -> GateResult:
    if judgement is not None:
        return GateResult(
            name=name, passed=judgement.passed, detail=judgement.detail, code=judgement.code, line=judgement.line
        )
    if name == "values" and "values" not in judged:
        return GateResult(name=name, detail="Not reached.")
    return GateResult(name=name, detail="Does not apply: the command's own accuracy decides.")
