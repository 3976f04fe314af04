"""The tool ``revert_to_best``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nki_anvil.lab import reverting
from nki_anvil.tools.call import Call
from nki_anvil.tools.declaration import Declaration
from nki_anvil.tools.parameters import Problem
from nki_anvil.tools.result import Result
from nki_anvil.tools.wording import OTHER_RULES, sentence, short


class RevertToBest(Result):
    kernel_path: str
    best_digest: str
    verified: Annotated[bool, Field(description="By today's simulator, or SDK, and gates.")]
    saved_attempt: Annotated[int | None, Field(description="Where the text that stood in the file is kept.")]


async def revert_to_best(call: Call, problem: Problem) -> RevertToBest:
    """Put the best kernel back into the problem's working file; the text that stood there is kept as an attempt first.

    Use it when an edit led nowhere. Not needed after benchmark_kernel said `restored`. Returns at once.
    """
    lab = await call.laboratory()
    reverted = await reverting.revert_to_best(lab, problem, report=call.report)
    saved = f"What stood there is attempt {reverted.saved_attempt}" if reverted.saved_attempt is not None else ""
    said = f"holds best {short(reverted.best_digest)}" + ("" if reverted.changed else " already")
    return RevertToBest.of(
        reverted,
        summary=sentence(f"{reverted.kernel_path} {said}", saved, "" if reverted.verified else OTHER_RULES),
        next_steps=[
            *([] if reverted.verified else ["verify_kernel: what stands in the file has no verdict of today."]),
            f"Read {reverted.kernel_path} again; then query_memory and plan another change.",
        ],
    )


TOOL = Declaration(
    revert_to_best, title="Revert to the best kernel", read_only=False, destructive=True, idempotent=True
)
