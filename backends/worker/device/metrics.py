"""One table from the names and units of every generation of profilers to ours.

Ours are the names of ``neuron-explorer``'s Summary (schema 7.4), latency in milliseconds. A counter that is zero is
absent from what a profiler writes, and ``*_percent`` are fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Optional, cast


@dataclass(frozen=True)
class Metric:
    """``names`` in the order in which they are looked for; the value is multiplied by ``factor``."""

    names: tuple[str, ...]
    factor: float = 1.0
    always: bool = True
    """Told as zero where it is absent."""


ENGINES: Final = {"tensor": "pe", "vector": "dve", "scalar": "act", "gpsimd": "pool"}
"""Our names, and those of the old profiler."""

TABLE: Final[dict[str, Metric]] = {
    "latency": Metric(("total_time",), 1e3),
    "hbm_read_bytes": Metric(("hbm_read_bytes", "dram_read_bytes")),
    "hbm_write_bytes": Metric(("hbm_write_bytes", "dram_write_bytes")),
    "sbuf_read_bytes": Metric(("sbuf_read_bytes", "sb_read_bytes")),
    "sbuf_write_bytes": Metric(("sbuf_write_bytes", "sb_write_bytes")),
    "psum_read_bytes": Metric(("psum_read_bytes",)),
    "psum_write_bytes": Metric(("psum_write_bytes",)),
    "spill_reload_bytes": Metric(("spill_reload_bytes", "sb_spill_reload_bytes")),
    "spill_save_bytes": Metric(("spill_save_bytes", "sb_spill_save_bytes")),
    "hardware_flops": Metric(("hardware_flops",)),
    "transpose_flops": Metric(("transpose_flops",)),
    "peak_flops_bandwidth_ratio": Metric(("peak_flops_bandwidth_ratio",)),
    "mm_arithmetic_intensity": Metric(("mm_arithmetic_intensity",)),
    "hfu_estimated_percent": Metric(("hfu_estimated_percent",)),
    "dma_active_time": Metric(("dma_active_time",)),
    **{
        f"{ours}_engine_active_time_percent": Metric(
            (f"{ours}_engine_active_time_percent", f"{old}_engine_active_time_percent", f"{old}_active_time_percent")
        )
        for ours, old in ENGINES.items()
    },
    "mbu_estimated_percent": Metric(("mbu_estimated_percent",), always=False),
    "mfu_estimated_percent": Metric(("mfu_estimated_percent",), always=False),
    "dma_transfer_count": Metric(("dma_transfer_count",), always=False),
    "dma_transfer_total_bytes": Metric(("dma_transfer_total_bytes",), always=False),
    "dma_transfer_average_bytes": Metric(("dma_transfer_average_bytes",), always=False),
    "matmul_instruction_count": Metric(("matmul_instruction_count",), always=False),
}

EXTRA: Final = frozenset({
    "mbu_estimated_percent", "mfu_estimated_percent", "dma_transfer_count", "dma_transfer_total_bytes",
    "dma_transfer_average_bytes", "matmul_instruction_count",
})  # fmt: skip
"""Told beside the metrics that every profile has."""
BOUND_SHARE: Final = 0.6
BOUND_BY: Final = {
    "dma": "memory",
    "tensor": "compute",
    "vector": "pipeline",
    "scalar": "pipeline",
    "gpsimd": "pipeline",
}


class NoLatency(ValueError):
    """A summary that does not say how long the kernel took."""


def summary_of(found: Any) -> dict[str, Any]:
    """The counters in a ``summary-json``: an object with one opaque key, a list of rows, or the counters themselves."""
    if isinstance(found, list):
        rows = cast("list[dict[str, Any]]", found)
        return rows[0] if rows else {}
    values: list[Any] = list(found.values())
    if values and all(isinstance(value, dict) for value in values):
        return cast("dict[str, Any]", values[0])
    return cast("dict[str, Any]", found)


def adapted(summary: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Metrics and extras under our names and in our units. Raises NoLatency."""
    values = {name: _value(metric, summary) for name, metric in TABLE.items()}
    if not values["latency"]:
        raise NoLatency(f"the profiler's summary has no total_time, only {', '.join(sorted(summary)[:8]) or 'nothing'}")
    metrics = {name: value or 0.0 for name, value in values.items() if name not in EXTRA}
    return metrics, {name: value for name in EXTRA if (value := values[name]) is not None}


def profile(summary: dict[str, Any], shapes: str) -> dict[str, Any]:
    """A Profile as plain JSON."""
    metrics, extra = adapted(summary)
    latency_us = metrics["latency"] * 1e3
    shares = {engine: metrics[f"{engine}_engine_active_time_percent"] for engine in ENGINES}
    shares["dma"] = min(1.0, metrics["dma_active_time"] * 1e6 / latency_us)
    busiest = max(shares, key=lambda engine: shares[engine])
    counts = {engine: _count(summary, engine) for engine in ENGINES}
    return {
        "shapes": shapes,
        "origin": "device",
        "latency_us": latency_us,
        "bound_by": BOUND_BY[busiest] if shares[busiest] >= BOUND_SHARE else "underutilized",
        "busiest": busiest,
        "engines": [
            {"engine": engine, "busy_us": share * latency_us, "share": share, "instructions": counts.get(engine, 0)}
            for engine, share in shares.items()
        ],
        "metrics": metrics,
        "extra": extra,
    }


def _value(metric: Metric, summary: dict[str, Any]) -> Optional[float]:
    for name in metric.names:
        if isinstance(summary.get(name), (int, float)):
            return metric.factor * float(summary[name])
    return 0.0 if metric.always else None


def _count(summary: dict[str, Any], engine: str) -> int:
    for name in (engine, ENGINES[engine]):
        if isinstance(found := summary.get(f"{name}_engine_instruction_count"), (int, float)):
            return int(found)
    return 0
