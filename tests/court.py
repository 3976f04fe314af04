"""A court for kernel texts: the real simulator behind the real gates, with pools that all tests of a session share."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nki_anvil.backends.backend import silent
from nki_anvil.backends.child import ChildBackend
from nki_anvil.lab import standard
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.loading import load
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verdict import Verdict
from nki_anvil.lab.verification import verify

TESTS = Path(__file__).parent
FOLDERS = (TESTS.parent / "seeds" / "problems", TESTS / "cheats" / "problems")


@dataclass
class Court:
    """Everything that it keeps lies below ``data``."""

    data: Path
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(20))
    opened: dict[str, Specification] = field(default_factory=dict)

    async def pool(self, problem: str) -> Pool:
        """The cases of a problem, opened where it was not yet."""
        if problem not in self.opened:
            folder = next(folder / problem for folder in FOLDERS if (folder / problem).is_dir())
            self.opened[problem] = await load(folder)
        return Pool(self.opened[problem], self.data)

    async def judge(self, problem: str, kernel: str) -> Verdict:
        """The verdict of a full verification."""
        pool, backend = await self.pool(problem), ChildBackend(self.data / "jobs", cores=2)
        specification = self.opened[problem]
        found = await verify(specification, kernel, "0" * 64, backend=backend, pool=pool, random=self.random)
        return found.verdict

    async def judge_a_claim(self, problem: str, kernel: str) -> Verdict:
        """The verdict before a kernel is claimed: who passes is judged on cases drawn for that look alone as well."""
        verdict = await self.judge(problem, kernel)
        if not verdict.passed:
            return verdict
        return await standard.verify(
            self.opened[problem], kernel, "0" * 64, backend=ChildBackend(self.data / "jobs", cores=2), data=self.data,
            random=self.random, unseen=True, report=silent,
        )  # fmt: skip
