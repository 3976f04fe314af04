"""Values that a published JSON schema allows: as much of the standard as our tools use, and an error for the rest."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

FEW: Final = 3
"""Elements of a list, where the schema would allow hundreds."""


def drawn_from(schema: dict[str, Any], root: dict[str, Any]) -> SearchStrategy[Any]:
    """``root`` holds the definitions that ``schema`` refers to."""
    if "$ref" in schema:
        return drawn_from(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return st.one_of(*(drawn_from(one, root) for one in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _BY_TYPE[schema["type"]](schema, root)


def _string(schema: dict[str, Any], _: dict[str, Any]) -> SearchStrategy[Any]:
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 40), 200))


def _number(schema: dict[str, Any], _: dict[str, Any]) -> SearchStrategy[Any]:
    low, high = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    return st.floats(
        low, high, exclude_min="exclusiveMinimum" in schema, exclude_max="exclusiveMaximum" in schema, allow_nan=False,
        allow_infinity=False,
    )  # fmt: skip


def _object(schema: dict[str, Any], root: dict[str, Any]) -> SearchStrategy[Any]:
    if "properties" not in schema:
        return st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=FEW)
    fields = {name: drawn_from(one, root) for name, one in schema["properties"].items()}
    required = {name: fields.pop(name) for name in schema.get("required", ())}
    return st.fixed_dictionaries(required, optional=fields)


def _array(schema: dict[str, Any], root: dict[str, Any]) -> SearchStrategy[Any]:
    least = schema.get("minItems", 0)
    return st.lists(drawn_from(schema["items"], root), min_size=least, max_size=max(least, FEW))


_BY_TYPE: Final = {
    "string": _string,
    "number": _number,
    "integer": lambda schema, _: st.integers(schema.get("minimum"), schema.get("maximum")),
    "boolean": lambda _, __: st.booleans(),
    "null": lambda _, __: st.none(),
    "array": _array,
    "object": _object,
}
