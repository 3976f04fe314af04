"""The state of a workspace as it is read from outside: plain values and texts from the laboratory's records."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from nki_anvil.backends.errors import AttemptUnknown, GateUnverified, PathOutside, StateDamaged
from nki_anvil.backends.run import Origin
from nki_anvil.lab.attempt import Attempt
from nki_anvil.lab.best import Best
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.problem import Problem
from nki_anvil.lab.reflecting import as_it_stands
from nki_anvil.lab.report import page
from nki_anvil.lab.status import bench_today, passes_today
from nki_anvil.lab.workbench import Workbench
from nki_anvil.memory.store import Store
from nki_anvil.server import guides

ORIGINS: Final[tuple[Origin, ...]] = ("device", "modelled")


def index(lab: Laboratory) -> str:
    """Markdown, one URI a line."""
    lines = ["# Resources of nki-anvil", "", "- anvil://problems: the open problems"]
    for name in lab.names():
        own = f"anvil://problems/{name}"
        lines += [f"- {own}: what it is and where it stands", f"- {own}/best: the best kernel"]
        lines += [f"- {own}/attempts: all attempts; {own}/attempts/0: one of them", f"- {own}/report: the HTML report"]
    lines += [f"- anvil://guides/{topic}: {guides.title(topic)}" for topic in guides.topics()]
    lines.append("- anvil://experiences/{id}: an experience, by an id from query_memory")
    return "\n".join(lines) + "\n"


def problems(lab: Laboratory) -> list[dict[str, Any]]:
    return [_line_or_refusal(lab, name) for name in lab.names()]


def here(lab: Laboratory) -> list[Problem]:
    """The open problems of this workspace whose records stand: a copied state is about the original's, and one problem
    that is refused says nothing of the others."""
    found: list[Problem] = []
    for name in lab.names():
        with suppress(PathOutside, StateDamaged):
            found.append(lab.problem(name))
    return found


def problem(lab: Laboratory, name: str) -> dict[str, Any]:
    found = lab.problem(name)
    places: dict[Origin, Best] = {origin: place for origin in ORIGINS if (place := found.best(origin).read())}
    guards = {origin: found.guard(origin).model_dump(mode="json", exclude={"counted", "old"}) for origin in places}
    return _line(lab, found) | {"specification": found.specification.model_dump(mode="json"), "guard": guards}


def best_of(found: Problem) -> Best | None:
    """Of a device, where there is one; else the modelled one."""
    return next((best for origin in ORIGINS if (best := found.best(origin).read())), None)


def best(lab: Laboratory, name: str) -> str:
    """Raises AttemptUnknown while no kernel has passed, ProblemChanged, and GateUnverified for a best that today's
    simulator and gates have not judged."""
    found = lab.problem(name)
    found.refuse_when_changed()
    bench_today(lab, found, found.record.backend)
    holder = holder_of(found)
    if passes_today(lab, found, holder) is False:
        raise GateUnverified(
            f"Best of {name} was judged by another simulator, SDK or set of gates than today's, and not since.",
            f"Call open_problem to have it verified again; its text is anvil://problems/{name}/attempts/{holder.attempt}.",
        )
    return found.attempts.held(holder).text()


def holder_of(found: Problem) -> Best:
    """As ``best_of``. Raises AttemptUnknown while no kernel has passed."""
    holder = best_of(found)
    if holder is None:
        raise AttemptUnknown(f"No kernel of {found.name} has passed yet.", "Call verify_kernel.")
    return holder


def attempts(lab: Laboratory, name: str) -> list[dict[str, Any]]:
    found = lab.problem(name)
    bench, changed = bench_today(lab, found, found.record.backend), found.changed()
    return [attempt_line(bench, attempt, changed) for attempt in found.attempts.all()]


def attempt(lab: Laboratory, name: str, number: str) -> dict[str, Any]:
    of = lab.problem(name)
    found = attempt_named(of, number)
    bench = bench_today(lab, of, of.record.backend)
    return attempt_line(bench, found, of.changed()) | {
        "kernel": found.text(),
        "verdicts": [verdict.model_dump(mode="json") for verdict in found.verdicts()],
        "comparisons": [comparison.model_dump(mode="json") for comparison in found.comparisons()],
        "profiles": [stored.model_dump(mode="json") for stored in found.profiles()],
        "reflexions": [reflexion.model_dump(mode="json") for reflexion in as_it_stands(bench, found)],
    }


def attempt_named(found: Problem, number: str) -> Attempt:
    """By number, or by digest from eight characters. Raises AttemptUnknown."""
    if number.isdecimal() and len(number) < 8:
        return found.attempts.get(int(number))
    return found.attempts.named(number)


def timeline(lab: Laboratory, name: str, digest: str) -> str:
    """Raises AttemptUnknown where this kernel was never profiled, or what lies there is no profile's."""
    found = lab.problem(name)
    known = [attempt.digest for attempt in found.attempts.all()]
    known += [folder.name for folder in (found.folder / "profiled").glob("*")]
    for full in dict.fromkeys(full for full in known if full.startswith(digest)):
        for origin in ORIGINS:
            if (trace := found.evidence(full).trace(origin)) is not None:
                return trace
    raise AttemptUnknown(
        f"No kernel {digest[:12]} of {name} was profiled, or its timeline is not as it was stored.",
        "Call profile_kernel for it.",
    )


def report(lab: Laboratory, name: str) -> str:
    """As things stand now: a kernel of the page that was written may have failed since. Raises ProblemChanged."""
    found = lab.problem(name)
    if not page.path(found).is_file():
        raise FileNotFoundError(f"{name} has no report yet: finish_problem writes it.")
    found.refuse_when_changed()
    return page.render(Workbench(lab, found, lab.backend_named(found.record.backend)))


def experience(memory: Store, name: str) -> dict[str, Any]:
    evidence = memory.evidence(name)
    return memory.get(name).model_dump(mode="json") | {"evidence": evidence.model_dump(mode="json")}


def attempt_line(bench: Workbench | None, found: Attempt, changed: str | None) -> dict[str, Any]:
    """An attempt in short: what it was for, whether it passes by today's rules, and what came of it if it did not fail.

    Nothing is faster than a kernel that failed. Without a bench, or where a file that the problem rests on ``changed``,
    nobody can say what holds today.
    """
    verdict = bench.verdict(found) if bench else None
    failed = verdict is not None and not verdict.passed
    comparison = None if failed else next(iter(reversed(found.comparisons())), None)
    if bench and comparison:
        comparison = bench.as_it_stands(comparison)
    return found.lineage.model_dump(mode="json") | {
        "passed": verdict.passed if verdict and not changed else None,
        "changed": changed,
        "outcome": comparison.outcome if comparison else None,
        "same_as": comparison.same_as if comparison else None,
        "speedup": comparison.speedup if comparison else None,
        "latency_us": comparison.latency_us if comparison else None,
        "origin": comparison.origin if comparison else None,
    }


def _line_or_refusal(lab: Laboratory, name: str) -> dict[str, Any]:
    try:
        return _line(lab, lab.problem(name))
    except (PathOutside, StateDamaged) as error:
        return {"problem": name, "refused": error.text}


def _line(lab: Laboratory, found: Problem) -> dict[str, Any]:
    places = {origin: found.best(origin).read() for origin in ORIGINS}
    return {
        "problem": found.name,
        "kernel_path": lab.shown(found.working_file),
        "backend": found.record.backend,
        "chip": found.specification.chip,
        "tolerance": found.specification.tolerance,
        "best": {origin: _holder(lab, found, place) for origin, place in places.items() if place},
        "attempts": len(found.attempts.all()),
        "finished_at": found.record.finished_at,
        "changed": found.changed(),
    }


def _holder(lab: Laboratory, found: Problem, place: Best) -> dict[str, Any]:
    shown = {"digest": place.digest, "attempt": place.attempt, "latency_us": place.latency_us}
    return shown | {"verified": passes_today(lab, found, place)}
