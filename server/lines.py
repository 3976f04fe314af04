"""How kernels, profiles and their differences are written in a prompt."""

from __future__ import annotations

from typing import Final

from nki_anvil.backends.run import Profile
from nki_anvil.lab.attempt import Attempt
from nki_anvil.memory.text import clean
from nki_anvil.tools.wording import microseconds

CHANGED: Final = 0.02
"""Share by which a metric has to differ to be told: the resolution of the model."""


def fenced(code: str) -> str:
    """Code that cannot end the fence it stands in."""
    return code.replace("```", "'''")


def flat(text: str) -> str:
    """One line, however it was written."""
    return " ".join(text.split())


def cited(text: str) -> str:
    """An author's words in one line, between quotation marks that they cannot end: they read as data."""
    said = flat(clean(text)).replace('"', "'")
    return f'"{said}"'


def differences(before: dict[str, float], after: dict[str, float]) -> str:
    """What changed by more than the model can resolve, the largest change first."""
    changed = [(name, before.get(name, 0.0), after.get(name, 0.0)) for name in dict.fromkeys((*before, *after))]
    changed = [one for one in changed if abs(one[1] - one[2]) > CHANGED * max(abs(one[1]), abs(one[2]))]
    changed.sort(key=lambda one: -abs(one[1] - one[2]) / max(abs(one[1]), abs(one[2])))
    return "\n".join(f"- {name}: {old:.4g} to {new:.4g}" for name, old, new in changed)


def metrics(attempt: Attempt | None) -> dict[str, float]:
    """Latency, engines, metrics and gaps of an attempt's newest profile; empty without one."""
    stored = attempt.profiles() if attempt else ()
    if not stored:
        return {}
    profile = stored[-1].profile
    engines = {f"{one.engine} busy, us": one.busy_us for one in profile.engines}
    gaps = {f"gap {gap.name}, us": gap.cost_us for gap in profile.gaps}
    return {"latency_us": profile.latency_us, **engines, **profile.metrics, **gaps}


def profile_lines(profile: Profile) -> list[str]:
    lines = [
        f"- latency: {microseconds(profile.latency_us)}",
        f"- bound by: {profile.bound_by}" + (f" ({profile.busiest})" if profile.busiest else ""),
    ]
    lines += [f"- {one.engine} busy: {microseconds(one.busy_us)} ({one.share:.0%})" for one in profile.engines]
    lines += [f"- {name}: {value:.6g}" for name, value in profile.metrics.items()]
    lines += [
        f"- gap {gap.name}: {microseconds(gap.cost_us)}, lines {list(gap.lines)}: {gap.advice}" for gap in profile.gaps
    ]
    return lines
