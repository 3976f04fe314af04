"""Gate 1: one entry function, written in what a kernel may use, that can be traced."""

from __future__ import annotations

from collections.abc import Sequence

from nki_anvil.backends.run import KernelError, Trace
from nki_anvil.backends.worker.kernel_text import KernelText, KernelTextError, entry_name, parse
from nki_anvil.lab import asked_versions, left_out
from nki_anvil.lab.evidence import Judgement
from nki_anvil.lab.kernel_reading import Objection, objections
from nki_anvil.sim import subset
from nki_anvil.sim.rules.finding import Finding
from nki_anvil.sim.versions import CURRENT

SHOWN = 3
"""Objections that are written out; the others are counted."""


def judge(
    kernel: str,
    entry: str | None,
    traces: Sequence[Trace] = (),
    version: str = CURRENT,
    *,
    inputs: Sequence[str] = (),
    imported: bool = False,
) -> Judgement:
    """Read the text as a version's compiler would; with traces, also whether it could be traced. Starts nothing.

    All of the text, where somebody's program imports it as it is. ``inputs`` are the names of what it is called with.
    """
    try:
        return _read(kernel, entry, traces, version, inputs, imported)
    except RecursionError:
        return Judgement(
            False, "The kernel is nested too deeply to be read.", code="SyntaxError", hint="Break long expressions up."
        )


def _read(
    kernel: str, entry: str | None, traces: Sequence[Trace], version: str, inputs: Sequence[str], imported: bool
) -> Judgement:
    try:
        text = parse(kernel)
        name = entry_name(text, entry)
        found = objections(text, name, imported=imported, inputs=inputs) or left_out.objections(text, name)
    except KernelTextError as error:
        return _failed(
            KernelError(code=error.code, message=error.message, line=error.line, text=error.text, remedy=error.remedy)
        )
    except SyntaxError as error:
        message = f"Python cannot import the kernel: {error.msg}"
        remedy = f"Mend the statement that begins at line {error.lineno}."
        return _failed(KernelError(code="SyntaxError", message=message, line=error.lineno, remedy=remedy))
    if found:
        return _objected(found, text)
    dialect = subset.findings(kernel, version, name)
    for finding in dialect:
        if finding.severity == "error":
            return _refused(finding, text, version)
    for trace in traces:
        if trace.outcome != "ok":
            return _untraced(trace)
    warnings = (*_warnings(text), *(_said(finding, text, version) for finding in dialect))
    by_us = traces and not any(trace.unknown for trace in traces)
    said = "Read and traced." if by_us else "Read."
    return Judgement(True, said, warnings=warnings, unjudged=asked_versions.asked(text, version))


def _refused(finding: Finding, text: KernelText, version: str) -> Judgement:
    said = _said(finding, text, version, with_remedy=False)
    return Judgement(False, said, code=finding.code, line=finding.line, hint=finding.remedy)


def _said(finding: Finding, text: KernelText, version: str, *, with_remedy: bool = True) -> str:
    message = f"{finding.message} {finding.remedy}" if with_remedy else finding.message
    return f"NKI {version}: {message} (line {finding.line}: {text.line(finding.line)}) [{finding.code}]"


def _objected(found: Sequence[Objection], text: KernelText) -> Judgement:
    """One objection says what is wrong, and its hint what to do; several say both, line by line."""
    if len(found) == 1:
        what, _, remedy = found[0].message.partition(". ")
        detail = f"Line {found[0].line}: {what.rstrip('.')} ({text.line(found[0].line)})."
        return Judgement(False, detail, code="Language", line=found[0].line, hint=remedy)
    lines = [f"Line {one.line}: {one.message} ({text.line(one.line)})" for one in found[:SHOWN]]
    more = f" And {len(found) - SHOWN} more." if len(found) > SHOWN else ""
    hint = f"Mend lines {', '.join(str(number) for number in dict.fromkeys(one.line for one in found))}."
    return Judgement(False, " ".join(lines) + more, code="Language", line=found[0].line, hint=hint)


def _untraced(trace: Trace) -> Judgement:
    if trace.error is not None:
        return _failed(trace.error)
    said = {
        "timeout": "Tracing did not end in time. Bound every loop; loops over data belong into nl.fori_loop.",
        "exited": "The kernel ended its process before it was traced. Remove whatever exits.",
        "malformed": "What came back from tracing is no program.",
        "too_large": "The program is too large. Use fewer, larger instructions or dynamic loops.",
    }
    return Judgement(False, said.get(trace.outcome, "The kernel could not be traced."), code=trace.outcome)


def _failed(error: KernelError) -> Judgement:
    place = (
        f" (line {error.line}: {error.text})"
        if error.line and error.text
        else f" (line {error.line})"
        if error.line
        else ""
    )
    detail = f"{error.message.rstrip('.')}{place}."
    return Judgement(False, detail, code=error.code, line=error.line, hint=error.remedy)


def _warnings(text: KernelText) -> tuple[str, ...]:
    return tuple(f"Left out: {statement}" for statement in text.left_out)
