"""What a problem looks like to memory: its family, chip, dtype, dialect, and where its best kernel loses time."""

from __future__ import annotations

from nki_anvil.backends.run import Origin, Profile
from nki_anvil.lab.problem import Problem
from nki_anvil.memory.experience import Tags
from nki_anvil.memory.retrieval import Situation
from nki_anvil.memory.tagging import families


def tags_of(problem: Problem) -> Tags:
    """Tags for a lesson learnt on this problem."""
    specification = problem.specification
    profile = _profile(problem)
    return Tags(
        families=families(problem.name),
        bottleneck=profile.bound_by if profile else "",
        dtype=specification.precision,
        chip=specification.chip,
        nki_version=f">={specification.nki_version}",
    )


def situation_of(problem: Problem, asked: Situation) -> Situation:
    """What was asked, completed with what is known of the problem."""
    tags = tags_of(problem)
    return asked.model_copy(
        update={
            "families": asked.families or tags.families,
            "bottleneck": asked.bottleneck or tags.bottleneck,
            "dtype": asked.dtype or tags.dtype,
            "chip": tags.chip,
            "nki_version": problem.specification.nki_version,
        }
    )


def _profile(problem: Problem) -> Profile | None:
    origins: tuple[Origin, ...] = ("device", "modelled")
    best = next((found for origin in origins if (found := problem.best(origin).read())), None)
    stored = problem.evidence(best.digest).profiles() if best else ()
    return stored[-1].profile if stored else None
