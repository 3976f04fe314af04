"""What the laboratory asks of the parts that read problems and judge kernels, so that it can be tried without them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from numpy.random import Generator

from nki_anvil.backends.backend import Backend, Report
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict


class Load(Protocol):
    """Makes a specification of a reference module, a problem.toml or a problem folder. Raises ProblemInvalid."""

    async def __call__(
        self,
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
        """Cases that are not in ``data`` are made in ``aside``: the problem may yet be refused."""
        ...


class Verify(Protocol):
    """A full verification of a kernel's text, on the problem's cases or on as many that are drawn for it alone."""

    async def __call__(
        self,
        specification: Specification,
        text: str,
        digest: str,
        *,
        backend: Backend,
        data: Path,
        random: Generator,
        unseen: bool,
        report: Report,
    ) -> Verdict: ...


class Look(Protocol):
    """Two own draws through the same gates: the verdict, which is not full, and the estimated latency in µs."""

    async def __call__(
        self,
        specification: Specification,
        text: str,
        digest: str,
        *,
        backend: Backend,
        data: Path,
        random: Generator,
        report: Report,
    ) -> tuple[Verdict, float | None]: ...
