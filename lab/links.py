"""The addresses under which clients find what is too large for a result."""

from __future__ import annotations


def timeline(problem: str, digest: str) -> str:
    return f"anvil://problems/{problem}/timeline/{digest}"


def attempts(problem: str) -> str:
    return f"anvil://problems/{problem}/attempts"


def report(problem: str) -> str:
    return f"anvil://problems/{problem}/report"
