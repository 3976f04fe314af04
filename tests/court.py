"""A court for kernel texts: the real simulator behind the real gates, with pools that all tests of a session share."""

import re
import shutil
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np

from nki_anvil.backends.backend import silent
from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import Case
from nki_anvil.lab import families, standard
from nki_anvil.lab.cases import Pool, Pooled
from nki_anvil.lab.loading import load
from nki_anvil.lab.planned_case import Plan
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

TESTS = Path(__file__).parent
FOLDERS = (TESTS.parent / "seeds" / "problems", TESTS / "cheats" / "problems")


@dataclass
class Court:
    """Everything that it keeps lies below ``data``."""

    data: Path
    seed: int = 20
    only: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """By problem, the families that its cases are of; all of a problem that is not there."""
    opened: dict[str, Specification] = field(default_factory=dict)

    @property
    def backend(self) -> ChildBackend:
        return ChildBackend(self.data / "jobs", cores=2)

    def random(self, problem: str) -> np.random.Generator:
        """The lots of one problem, which do not hang on what was judged before."""
        return np.random.default_rng([self.seed, crc32(problem.encode())])

    async def pool(self, problem: str) -> Pool:
        """The cases of a problem, opened where it was not yet."""
        if problem not in self.opened:
            self.opened[problem] = await load(_folder(problem))
        specification, only = self.opened[problem], self.only.get(problem)
        if only is None:
            return Pool(specification, self.data)
        with planned(only):
            await (pool := _Kept(specification, self.data)).prepare(self.random(f"{problem}, few"))
        return pool

    async def resized(self, problem: str, dims: dict[str, int]) -> str:
        """The name of the same problem at other dims."""
        name = f"{problem} {dims}"
        if name not in self.opened:
            folder = shutil.copytree(_folder(problem), self.data / "resized" / name)
            text = (folder / "problem.toml").read_text()
            for dim, length in dims.items():
                text, found = re.subn(rf"^{dim} = \d+$", f"{dim} = {length}", text, flags=re.MULTILINE)
                assert found, f"{problem} has no dimension {dim}"
            (folder / "problem.toml").write_text(text)
            self.opened[name] = await load(folder)
        return name

    async def judge(self, problem: str, kernel: str) -> Verdict:
        """The verdict of a full verification."""
        pool = await self.pool(problem)
        specification = self.opened[problem]
        random = self.random(problem)
        found = await verify(specification, kernel, "0" * 64, backend=self.backend, pool=pool, random=random)
        return found.verdict

    async def judge_a_claim(self, problem: str, kernel: str) -> Verdict:
        """The verdict before a kernel is claimed: who passes is judged on cases drawn for that look alone as well."""
        verdict = await self.judge(problem, kernel)
        if not verdict.passed:
            return verdict
        return await standard.verify(
            self.opened[problem], kernel, "0" * 64, backend=self.backend, data=self.data, unseen=True, report=silent,
            random=self.random(f"{problem}, unseen"),
        )  # fmt: skip


class _Kept(Pool):
    """Stays as it was made."""

    async def fresh(self, random: np.random.Generator, like: Sequence[Pooled]) -> list[Case]:
        return []


@contextmanager
def planned(only: Collection[str]) -> Generator[None]:
    """Pools that are made meanwhile have cases of these families alone, and no probes."""
    whole = families.plans

    def few(*given: Any, **named: Any) -> list[Plan]:
        plans = [plan for plan in whole(*given, **named) if plan.probe is None]
        return [plan for plan in plans if plan.family.partition("/")[0] in only]

    with mock.patch.object(families, "plans", few):
        yield


def _folder(problem: str) -> Path:
    return next(folder / problem for folder in FOLDERS if (folder / problem).is_dir())
