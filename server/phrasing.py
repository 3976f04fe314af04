"""What results and errors ask for, in the command line's own words: they are written for clients, and name tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from nki_anvil.backends.errors import AnvilError
    from nki_anvil.tools.result import Result

    R = TypeVar("R", bound=Result)

COMMANDS: Final = {
    "open_problem": "open REFERENCE",
    "profile_kernel": "profile {problem}",
    "query_memory": "memory query --problem {problem}",
    "verify_kernel": "verify {problem}",
    "benchmark_kernel": "benchmark {problem}",
    "revert_to_best": "revert {problem}",
    "record_reflexion": "reflect {problem} {attempt}",
    "problem_status": "status {problem}",
    "finish_problem": "finish {problem}",
}
"""By the name of a tool: what a person types for it."""

FOR_CLIENTS: Final = re.compile(r"Tell the user|\b(add_experience|evaluate_candidates|shown_id|detach)\b")
"""In a step that has no command, or is meant for whoever talks to a person."""

NAMED: Final = re.compile(
    rf"\b(?P<verb>[Cc]all )?(?P<tool>{'|'.join(COMMANDS)})\b"
    r"(?:\((?P<given>[^()]*)\))?(?: for attempt (?P<attempt>\d+))?"
)
VERBS: Final = {"Call ": "Run ", "call ": "run "}


def phrased(text: str, problem: str | None) -> str:
    """``Call verify_kernel first.`` as ``Run `nki-anvil verify p` first.``; what is not known is NAME or N."""

    def command(found: re.Match[str]) -> str:
        given = dict(re.findall(r"(\w+)=\"?([^\s,\"]+)", found["given"] or ""))
        name = given.get("problem") or problem or "NAME"
        typed = COMMANDS[found["tool"]].format(problem=name, attempt=found["attempt"] or given.get("attempt") or "N")
        return f"{VERBS.get(found['verb'], '')}`nki-anvil {typed}`"

    return NAMED.sub(command, text)


def result(given: R, problem: str | None) -> R:
    """The same result with a summary and steps that a person can follow; steps without a command are left out."""
    steps = [phrased(step, problem) for step in given.next_steps if not FOR_CLIENTS.search(step)]
    return given.model_copy(update={"summary": phrased(given.summary, problem), "next_steps": steps})


def error(given: AnvilError, problem: str | None) -> dict[str, str]:
    """Code, message and remedy."""
    message, remedy = (phrased(text, problem) for text in (given.message, given.remedy))
    return {"code": given.code, "message": message, "remedy": remedy}
