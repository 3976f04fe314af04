"""Python text as a tree, whatever other threads parse at the same moment."""

from __future__ import annotations

import ast

from nki_anvil.sim.again import again


def parsed(text: str, filename: str = "<text>") -> ast.Module:
    """The tree of a module's text; raises what ``ast.parse`` raises."""
    return again(ast.parse, text, filename)


def parsed_expression(text: str) -> ast.Expression:
    """The tree of a single expression; raises what ``ast.parse`` raises."""
    return again(ast.parse, text, "<text>", "eval")
