"""What pydantic objects to in an argument, said in plain words."""

from __future__ import annotations

from typing import Any, Final

from pydantic_core import ErrorDetails

_TYPES: Final = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
    "finite": "a finite number",
}
_BOUNDS: Final = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "at least {}"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "at most {}"),
    "multiple_of": ("multiple_of", "a multiple of {}"),
}
_LONGEST: Final = 40
"""Characters of a wrong value that are repeated."""


def complaint(detail: ErrorDetails) -> str:
    """The rest of a sentence that begins with the parameter's name, such as "must be at most 50, and is 99"."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words.format(context[key])}{_given(detail)}"
    if kind == "literal_error":
        return f"must be {context['expected']}{_given(detail)}"
    if kind.endswith(("too_short", "too_long")):
        return _length(kind, context)
    if kind == "int_from_float":
        return f"must be a whole number{_given(detail)}"
    wanted, _, how = kind.rpartition("_")
    if how in ("type", "parsing", "number") and wanted in _TYPES:
        return f"must be {_TYPES[wanted]}{_given(detail)}"
    said = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return said[:1].lower() + said[1:]


def _length(kind: str, context: dict[str, Any]) -> str:
    """Of a text or a list that is too short or too long."""
    unit = "character" if kind.startswith("string") else "item"
    which, limit = ("least", context.get("min_length")) if kind.endswith("short") else ("most", context["max_length"])
    there = context.get("actual_length")
    given = f", and has {there or 'none'}" if isinstance(there, int) else ""
    return f"must have at {which} {limit} {unit}{'' if limit == 1 else 's'}{given}"


def _given(detail: ErrorDetails) -> str:
    """The value itself where it is short enough to be repeated."""
    value = detail.get("input")
    if value is None:
        return ""
    if isinstance(value, (list, dict)):
        return f", and is {'a list' if isinstance(value, list) else 'an object'}"
    shown = repr(value)
    return f", and is {shown}" if len(shown) <= _LONGEST else ""
