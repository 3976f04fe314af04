"""What a latency is worth: against AccelOpt's peak of the problem, and against its physical bound.

Formulas and figures are those of the design's benchmark page, per core; ``lnc`` cores double them.
"""

from __future__ import annotations

from typing import Final

from nki_anvil.lab.results import Bound, Peak
from nki_anvil.lab.specification import Specification, Work
from nki_anvil.sim.chips import CHIPS, Chip

ACCELOPT_TRN2: Final = {"bytes_per_us": 640e3, "fp32": 19.75e6, "bf16": 78.6e6, "fp8": 157e6, "vector": 550e3}
"""AccelOpt's denominators for one Trn2 core: bytes and FLOPs per µs."""

RATE_OF: Final = {
    "float32": "fp32",
    "tfloat32": "bf16",
    "bfloat16": "bf16",
    "float16": "bf16",
    "float8_e4m3": "fp8",
    "float8_e5m2": "fp8",
}
"""tfloat32 runs at bfloat16's rate."""


def peak(specification: Specification) -> Peak:
    """AccelOpt's T at the timed shape; for other chips than Trn2 there is none."""
    work = specification.work.get(specification.timed, Work())
    terms = (
        (work.bytes, ACCELOPT_TRN2["bytes_per_us"]),
        (work.matmul_flops, ACCELOPT_TRN2[RATE_OF[specification.precision]]),
        (work.vector_flops, ACCELOPT_TRN2["vector"]),
    )
    times = [amount / rate for amount, rate in terms if amount is not None]
    known = specification.chip == "trn2" and any(times)
    return Peak(
        time_us=max(times) / specification.lnc if known else None,
        bytes=work.bytes,
        matmul_flops=work.matmul_flops,
        vector_flops=work.vector_flops,
    )


def bound(specification: Specification) -> Bound:
    """No kernel can be faster than moving the problem's bytes, or doing its matmul FLOPs."""
    work, chip = specification.work.get(specification.timed, Work()), CHIPS[specification.chip]
    moving = (work.bytes or 0) / (chip.dma_core_practical_gbps * 1e3)
    multiplying = (work.matmul_flops or 0) / _tensor_rate(chip, specification)
    if not moving and not multiplying:
        return Bound(time_us=None, bound_by="unknown")
    return Bound(
        time_us=max(moving, multiplying) / specification.lnc,
        bound_by="memory" if moving >= multiplying else "compute",
    )


def _tensor_rate(chip: Chip, specification: Specification) -> float:
    """FLOPs per µs at the declared precision."""
    rates = {"fp32": chip.peak_tflops_fp32, "bf16": chip.peak_tflops_bf16, "fp8": chip.peak_tflops_fp8}
    return rates[RATE_OF[specification.precision]] * 1e6


def percent_of_peak(specification: Specification, latency_us: float | None) -> float | None:
    return _percent(peak(specification).time_us, latency_us)


def percent_of_bound(specification: Specification, latency_us: float | None) -> float | None:
    return _percent(bound(specification).time_us, latency_us)


def _percent(least_us: float | None, latency_us: float | None) -> float | None:
    return 100 * least_us / latency_us if least_us and latency_us else None
