"""The laboratory behind its seams: the loader with its pool of cases, the full verification, and a quick look."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from numpy.random import Generator

from nki_anvil.backends import scratch
from nki_anvil.backends.backend import Backend, Report
from nki_anvil.lab import end_to_end, loading
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify as verify_once

LOTS: Final = 3
"""Times as many cases of kinds drawn by lot in a look at unseen ones, where they cost no device time."""


async def load(
    reference: Path,
    *,
    name: str | None,
    kernel: Path | None,
    tolerance: float | None,
    chip: str | None,
    data: Path,
    aside: Path,
    random: Generator,
    report: Report,
) -> Specification:
    """Read a problem and make its first cases, so that a reference that cannot be used is refused before it is open."""
    specification = await loading.load(
        reference, name=name, kernel=kernel, tolerance=tolerance, chip=chip, place=aside / "asked"
    )
    if specification.e2e is not None:
        return specification  # its command is its reference: there are no cases to draw
    kept = Pool(specification, data)
    pool = kept if await kept.made() else Pool(specification, aside)
    warnings = await pool.prepare(random, report)
    return specification.model_copy(update={"warnings": (*specification.warnings, *warnings)})


async def verify(
    specification: Specification,
    text: str,
    digest: str,
    *,
    backend: Backend,
    data: Path,
    random: Generator,
    unseen: bool,
    report: Report,
) -> Verdict:
    """By the problem's pool, which grows with it; ``unseen``, by one of its own, of other draws in every family."""
    if specification.e2e is not None:
        return await end_to_end.verify(specification, text, digest, backend=backend, report=report)
    async with _cases(data, unseen) as place:
        closer = unseen and backend.origin == "modelled"
        pool = Pool(specification, place, LOTS if closer else 1)
        judged = await verify_once(
            specification, text, digest, backend=backend, pool=pool, random=random, report=report, again=closer
        )
    return judged.verdict.model_copy(update={"unseen": unseen})


@asynccontextmanager
async def _cases(data: Path, unseen: bool) -> AsyncGenerator[Path]:
    """Where the cases lie: the problem's own, or a folder that is gone afterwards."""
    if not unseen:
        yield data
        return
    async with scratch.aside(data / "unseen", "cases-") as aside:
        yield aside


async def look(
    specification: Specification,
    text: str,
    digest: str,
    *,
    backend: Backend,
    data: Path,
    random: Generator,
    report: Report,
) -> tuple[Verdict, float | None]:
    """As many cases as a person will wait for between two saves."""
    end_to_end.refuse_profile(specification)
    pool = Pool(specification, data)
    judged = await verify_once(
        specification, text, digest, backend=backend, pool=pool, random=random, report=report, full=False
    )
    return judged.verdict, judged.profile.latency_us if judged.profile else None
