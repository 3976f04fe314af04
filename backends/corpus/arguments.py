"""A kernel's arguments from what a ``corpus.toml`` says of them. Draws depend on the seed alone."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from nki_anvil.backends.corpus.source import Source
from nki_anvil.sim.dtypes import numpy_dtype


def arguments(source: Source, request: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments. Raises LookupError or ValueError for what cannot be built."""
    if request.get("inputs"):
        np.random.seed(request["seed"])
        random.seed(request["seed"])
        return _given(_called(source, request["inputs"]))
    generator = np.random.default_rng(request["seed"])
    positional = [_one(source, spec, generator) for spec in request["arguments"]]
    return positional, {name: _one(source, spec, generator) for name, spec in request["keywords"].items()}


def _called(source: Source, text: str) -> Any:
    value = source.find(text) if ":" in text and " " not in text and "(" not in text else source.value(text)
    return value() if callable(value) else value


def _given(value: Any) -> tuple[list[Any], dict[str, Any]]:
    if isinstance(value, Mapping):
        return [], {str(name): one for name, one in cast("Mapping[Any, Any]", value).items()}
    return (list(cast("Sequence[Any]", value)), {}) if isinstance(value, (list, tuple)) else ([value], {})


def _one(source: Source, spec: Any, generator: np.random.Generator) -> Any:
    if isinstance(spec, list):
        return tuple(_one(source, item, generator) for item in cast("list[Any]", spec))
    if not isinstance(spec, dict):
        return spec
    record = cast("dict[str, Any]", spec)
    if "expression" in record:
        return source.value(record["expression"])
    shape = tuple(int(size) for size in record["shape"])
    return _DRAWS[record["values"]](record, shape, generator).astype(numpy_dtype(record["dtype"]))


def _normal(_record: Any, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    return generator.standard_normal(shape)


def _uniform(record: Any, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    return generator.uniform(record["low"], record["high"], shape)


def _integers(record: Any, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    return generator.integers(int(record["low"]), int(record["high"]), shape)


def _counted(_record: Any, shape: tuple[int, ...], _generator: np.random.Generator) -> Any:
    return np.arange(math.prod(shape)).reshape(shape)


def _constant(record: Any, shape: tuple[int, ...], _generator: np.random.Generator) -> Any:
    return np.full(shape, record["low"])


_DRAWS = {"normal": _normal, "uniform": _uniform, "integers": _integers, "range": _counted, "constant": _constant}
