"""The tools, in the order in which they are used."""

from __future__ import annotations

from typing import Final

from nki_anvil.tools import (
    add_experience,
    benchmark_kernel,
    evaluate_candidates,
    finish_problem,
    open_problem,
    problem_status,
    profile_kernel,
    query_memory,
    record_reflexion,
    revert_to_best,
    verify_kernel,
)
from nki_anvil.tools.declaration import Declared

TOOLS: Final[tuple[Declared, ...]] = (
    open_problem.TOOL,
    profile_kernel.TOOL,
    query_memory.TOOL,
    verify_kernel.TOOL,
    benchmark_kernel.TOOL,
    evaluate_candidates.TOOL,
    revert_to_best.TOOL,
    record_reflexion.TOOL,
    add_experience.TOOL,
    problem_status.TOOL,
    finish_problem.TOOL,
)
