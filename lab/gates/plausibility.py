"""Gate 8: no faster than its own bytes and cycles allow, and no answers carried along as constants."""

from __future__ import annotations

from collections.abc import Iterator

from nki_anvil.backends.run import Profile
from nki_anvil.lab.evidence import Evidence, Judgement

CONSTANT_BYTES = 1 << 20
"""An identity of 128 x 128 takes 64 KiB, a mask of 128 x 2048 takes 1 MiB; answers for real shapes take far more."""
FLOOR_SHARE = 0.98
LITTLE_WORK = 0.5
"""Below this share of the problem's work it is said, never refused: skipping and reassociation are honest."""


def judge(evidence: Evidence) -> Judgement:
    if unknown := evidence.unknown():
        return Judgement(None, f"Not run: without a program there is no floor. {unknown}")
    for trace in evidence.traces():
        if trace.constant_bytes > CONSTANT_BYTES:
            sizes = f"{trace.constant_bytes >> 10} KiB of constants; {CONSTANT_BYTES >> 10} KiB are allowed"
            detail = f"The program carries {sizes}."
            return Judgement(False, detail, hint="Compute tables with iota and instructions, or take them as inputs.")
    for profile in evidence.run.profiles:
        if profile.latency_us < FLOOR_SHARE * profile.floor_us:
            detail = f"{profile.latency_us:.2f} us is below the program's floor of {profile.floor_us:.2f} us."
            return Judgement(False, detail, code="implausible")
    if not evidence.run.profiles:
        return Judgement(True, "Constants are small; no latency is claimed.", warnings=())
    return Judgement(
        True, "Constants are small, and no latency is below the program's floor.", warnings=tuple(_little(evidence))
    )


def _little(evidence: Evidence) -> Iterator[str]:
    for profile in evidence.run.profiles:
        work = evidence.specification.work.get(profile.shapes)
        declared = work.matmul_flops if work else None
        done = _matmul_flops(profile)
        if declared and done is not None and done < LITTLE_WORK * declared:
            yield f"The program does {done / declared:.0%} of the problem's matmul FLOPs (shape set {profile.shapes})."


def _matmul_flops(profile: Profile) -> float | None:
    """What the profiler's counters say; transposes do no work of the problem's."""
    if "hardware_flops" not in profile.metrics:
        return None
    return profile.metrics["hardware_flops"] - profile.metrics.get("transpose_flops", 0.0)
