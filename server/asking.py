"""What may be asked of prompts: a wrong question is answered as MCP's invalid parameters, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Prompt

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.tools.arguments import meant


def check(prompts: Sequence[Prompt], name: str, given: Collection[str]) -> None:
    """Raises MCPError where there is no such prompt, or its arguments are not those that it takes."""
    prompt = next((one for one in prompts if one.name == name), None)
    if prompt is None:
        raise invalid(f"There is no prompt {name!r} ({meant(name, [one.name for one in prompts])}).")
    known = {argument.name: argument.required for argument in prompt.arguments or ()}
    missing = [argument for argument, required in known.items() if required and argument not in given]
    if missing:
        raise invalid(f"The prompt {name} needs {_listed(missing)}.", "anvil://problems lists the open ones.")
    unknown = [argument for argument in given if argument not in known]
    if unknown:
        raise invalid(f"The prompt {name} takes no {unknown[0]!r} ({meant(unknown[0], list(known))}).")


def invalid(message: str, remedy: str = "") -> MCPError:
    """Invalid parameters, in the words and with the code of a tool's refusal."""
    return MCPError(INVALID_PARAMS, ArgumentsInvalid(message, remedy).text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"the argument '{name}'" for name in names)
