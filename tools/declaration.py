"""What a tool is, before anything publishes it: the command line calls the function and never loads MCP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nki_anvil.tools.result import Result

Function = Callable[..., Awaitable[Result]]
"""``async def verify_kernel(call: Call, problem: ...) -> VerifyKernel``; its docstring is the description."""


@dataclass(frozen=True)
class Declaration:
    """A plain function to be published under its own name, and what clients are told of its effects."""

    function: Function
    title: str
    read_only: bool
    destructive: bool
    idempotent: bool
    long: bool = False
    """It reports progress, can be detached, and returns a LongResult."""
