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
from nki_anvil.tools.publication import Published, publish

TOOLS: Final[tuple[Published, ...]] = tuple(
    publish(module.TOOL)
    for module in (
        open_problem,
        profile_kernel,
        query_memory,
        verify_kernel,
        benchmark_kernel,
        evaluate_candidates,
        revert_to_best,
        record_reflexion,
        add_experience,
        problem_status,
        finish_problem,
    )
)
