"""Which of several hosts takes a job: the one with most cores to spare, and for timed runs always the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from nki_anvil.backends.job import Job
from nki_anvil.backends.ssh.session import Session


@dataclass
class Post:
    """One host and what it is doing for this server."""

    session: Session
    cores: int = 1
    toolchain: str = ""
    busy: int = 0
    down: bool = False


@dataclass
class Fleet:
    posts: list[Post]
    homes: dict[str, Post] = field(default_factory=dict[str, Post])
    """Where a problem's kernels are timed: both arms of a comparison, and all of its rounds."""
    places: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """The cores on which they were timed last: noise is known per core."""

    def choose(self, job: Job, able: list[Post]) -> Post:
        """Of ``able`` hosts; the choice for a timed job is kept as long as that host is able."""
        if not job.timed:
            return self._freest(able)
        home = self.homes.get(key(job))
        if home is None or home not in able:
            home = self.homes[key(job)] = self._freest(able)
        return home

    def _freest(self, able: list[Post]) -> Post:
        return max(able, key=lambda post: (post.cores - post.busy) / post.cores)


def key(job: Job) -> str:
    """What is compared with each other: the same arguments at the same shapes, or the same command."""
    shapes = "".join(shape_set.model_dump_json() for shape_set in job.shape_sets)
    command = job.command.model_dump_json() if job.command else ""
    return hashlib.sha256(f"{job.chip} {job.lnc} {shapes}{command}".encode()).hexdigest()
