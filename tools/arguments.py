"""Arguments as a model sends them: unknown names are refused, and a refusal says what was meant.

The SDK alone ignores unknown names, and reads a JSON text given for a text parameter as an object.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, cast, get_args

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from pydantic import ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.tools.complaints import complaint


class StrictMetadata(FuncMetadata):
    """Argument metadata that parses JSON text only where the parameter is not a text itself."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        texts = {name for name, info in self.arg_model.model_fields.items() if str in _alternatives(info.annotation)}
        others = {name: value for name, value in data.items() if name not in texts}
        return data | super().pre_parse_json(others)


def strict(metadata: FuncMetadata) -> StrictMetadata:
    """The same parameters, with unknown names refused."""
    base = metadata.arg_model
    forbidding: type[ArgModelBase] = type(
        base.__name__, (base,), {"model_config": ConfigDict(extra="forbid"), "__module__": base.__module__}
    )
    return StrictMetadata(
        arg_model=forbidding, output_schema=metadata.output_schema, output_model=metadata.output_model
    )


def published(metadata: FuncMetadata) -> dict[str, Any]:
    """The input schema, without what says nothing: generated titles, and null as a way to leave a parameter out."""
    return _plain(metadata.arg_model.model_json_schema(by_alias=True))


def refusal(tool: str, error: ValidationError, known: Sequence[str]) -> ArgumentsInvalid:
    """What is wrong with the arguments, parameter by parameter."""
    details = error.errors(include_url=False)
    said = dict.fromkeys(_sentence(detail, known) for detail in details if not _other_choice(detail, details))
    return ArgumentsInvalid(f"{tool}: " + "; ".join(said) + ".")


def _other_choice(detail: ErrorDetails, details: Sequence[ErrorDetails]) -> bool:
    """A complaint that an element is no text, where it was meant as the object that another complaint is about."""
    place = detail["loc"][:-1]
    return detail["loc"][-1:] == ("str",) and any(
        len(d["loc"]) > len(place) + 1 and d["loc"][:-2] == place for d in details
    )


def _sentence(detail: ErrorDetails, known: Sequence[str]) -> str:
    name = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden" and len(detail["loc"]) > 1:
        parameter, place = detail["loc"][0], detail["loc"][1]
        return f"unknown name '{detail['loc'][-1]}' in '{parameter}[{place}]'"
    if detail["type"] == "extra_forbidden":
        return f"unknown argument '{name}' ({meant(name, known)})"
    if detail["type"] == "missing":
        return f"'{name}' is missing"
    return f"'{name}' {complaint(detail)}"


def meant(name: str, known: Sequence[str]) -> str:
    """A parenthesis: the nearest of the names there are, or all of them."""
    nearest = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{nearest[0]}'?" if nearest else f"it takes {', '.join(known)}"


def _alternatives(annotation: Any) -> Iterable[Any]:
    return get_args(annotation) or (annotation,)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in schema.items() if name != "title" or not isinstance(value, str)}
    if kept.get("default", ...) is None:
        kept = _without_null({name: value for name, value in kept.items() if name != "default"})
    return {name: _inner(value) for name, value in kept.items()}


def _inner(value: Any) -> Any:
    if isinstance(value, dict):
        return _plain(cast(dict[str, Any], value))
    return [_inner(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return rest | choices[0] if len(choices) == 1 else schema
