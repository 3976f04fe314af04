"""The constants of the cost model that measurements on a host may correct, each by a name.

A name is a field of ``Rates``, with a dot where the field is a table: ``issue_ns.vector``. What is no entry here is a
fact of the architecture and stays as published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from nki_anvil.sim.costs.rates import Rates

ADJUSTABLE: Final = (
    "launch_ns",
    "issue_ns.tensor",
    "issue_ns.vector",
    "issue_ns.scalar",
    "issue_ns.gpsimd",
    "latency_ns.vector",
    "latency_ns.scalar",
    "latency_ns.gpsimd",
    "semaphore_ns",
    "gpsimd_constant_cycles",
    "table_load_ns",
    "matmul_passes_fp32",
    "clock_ramp_ns",
    "clock_cold",
    "vector_pair_fp32",
    "dma_engine_rate",
    "dma_run_ns",
    "dma_copy_ns",
    "dma_start_ns.unknown",
    "dma_complete_ns",
)


@dataclass(frozen=True, slots=True)
class Constants:
    """Values by name, and where they come from."""

    source: str
    values: Mapping[str, float]


FACTOR: Final = 8.0
"""A host whose constant differs by more than this from the published one is not the chip that the model knows."""
LAUNCH_NS: Final = 1_000_000.0
"""Most that a launch may take; the default of zero gives no scale."""


def constant(rates: Rates, name: str) -> float:
    """One constant by name; raises KeyError for a name that is none."""
    if name not in ADJUSTABLE:
        raise KeyError(f"no adjustable constant is called {name!r}")
    field, _, key = name.partition(".")
    value = getattr(rates, field)
    return float(value[key] if key else value)


def adjusted(rates: Rates, values: Mapping[str, float]) -> Rates:
    """The same rates with some constants replaced; raises KeyError for a name, ValueError for a value out of range."""
    changed: dict[str, object] = {}
    for name, value in values.items():
        low, high = bounds(rates, name)
        if not low <= value <= high:
            raise ValueError(f"{name} is {value:g}, outside {low:g} to {high:g}")
        field, _, key = name.partition(".")
        table = changed.get(field, getattr(rates, field))
        changed[field] = {**table, key: value} if key and isinstance(table, Mapping) else value
    return replace(rates, **changed)  # type: ignore[arg-type]


def bounds(rates: Rates, name: str) -> tuple[float, float]:
    """Between which values a constant may be set."""
    published = constant(rates, name)
    if name == "clock_cold":
        return published / FACTOR, 1.0
    return (published / FACTOR, published * FACTOR) if published else (0.0, LAUNCH_NS)
