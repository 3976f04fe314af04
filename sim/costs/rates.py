"""Constants of the cost model, one row per chip, each with its source; limits and clocks stand in ``chips``.

Sources, by the names used below; nothing here was measured by this project:

- *architecture guide*: AWS Neuron documentation, NKI, Trainium2 architecture guide
- *instruction pages*: the cost lines of the ``nki.isa`` reference, mostly written for the first generation
- *exp profile*: profiler screenshots of an exponential kernel in the same documentation, read to about 2 %
- *DMA plot*: throughput over bytes per partition in the documentation's DMA bandwidth guide, read to about 2 %
- *matmul profiles*: a 4096 cubed bf16 matmul, naive and by rows, recorded in AWS's public agent repository
- *descriptor modes*: a kernel of that repository that loads and stores under four descriptor modes
- *array micro-benchmark*: published rates of full and partly filled matmuls
- *streamed instructions*: back-to-back against isolated instructions in those profiles
- *recorded Trn1 profiles*: engines' busy times in AccelOpt's published profiles of NKIBench's kernels on Trn1
- *recorded counters*: definitions that reproduce the counters of AccelOpt's recorded Trn1 profiles
- *derived*: follows from the above; *assumed*: no source gives it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Rates:
    """Times are nanoseconds, rates are bytes per nanosecond (= GB/s)."""

    minimum_cycles: float = 64
    """Initiation interval of every compute instruction (instruction pages)."""
    gpsimd_constant_cycles: float = 150
    """Fixed part of a GpSimd instruction (instruction pages: iota, affine_select)."""
    issue_ns: Mapping[str, float] = None  # type: ignore[assignment]
    """What an instruction adds to its engine's time when the queue is full (array micro-benchmark for the tensor
    engine, else streamed instructions)."""
    latency_ns: Mapping[str, float] = None  # type: ignore[assignment]
    """From the last element in to the result being visible to the next instruction of the same engine (exp
    profile, matmul profiles, streamed instructions)."""
    semaphore_ns: float = 100
    """Additional time until another engine sees a result (0.1 to 0.2 us published; the lower, for it is partly
    in latency)."""
    reorder_window: int = 8
    """Instructions of a queue among which the compiler picks the next that can start (assumed; ``no_reorder`` exists
    because it does)."""
    table_load_ns: float = 1280
    """Scalar engine: loading the tables of another set of functions (exp profile)."""
    matmul_passes_fp32: float = 4
    """Cycles per moving column of an fp32 matmul, relative to bf16 (architecture guide)."""
    transpose_passes_fp32: float = 2
    """An fp32 transpose in transpose mode runs at twice the rate of an fp32 matmul."""
    onezero_passes_fp32: float = 2
    """The same where an operand is promised to hold zeros and ones alone (instruction pages: is_stationary_onezero)."""
    fast_weight_load: float = 4
    """Stationary columns that load per cycle for formats of two bytes or fewer (architecture guide); one for fp32."""
    clock_ramp_ns: float = 3000
    """Tensor engine: sustained use until the clock is full (architecture guide)."""
    clock_cold: float = 0.5
    """Tensor engine: share of the clock when it has been idle (architecture guide)."""
    array_use_full: float = 0.5
    """Share of the array below which the activity manager lowers the clock (architecture guide; array micro-
    benchmark: fitted to the aggregate)."""
    vector_perf_modes: bool = True
    """16-bit modes of two and four elements per cycle (architecture guide)."""
    vector_pair_fp32: float = 1
    """Cycles per element of two fp32 operands in SBUF; matmul profiles says 1 on Trn2, the instruction pages say 2."""
    vector_pair_fp32_high: float = 2
    reciprocal_cycles: float = 8
    """Cycles per element of a reciprocal on the vector engine (instruction pages). Recorded Trn1 profiles need 2.4: the
    time of silu and of adamw beyond their pairs of operands gives 1.19 us for 512 elements in both."""
    dma_engine_rate: float = 23.0
    """Practical bytes per nanosecond of one DMA engine (architecture guide; exp profile: 23.1)."""
    dma_run_ns: float = 6.0
    """Descriptor generation, per contiguous run, serial in one queue. 128 runs take 0.88 us in the plot (DMA
    plot), 0.69 us
    in the 11,520 transfers of matmul profiles."""
    dma_run_shared_ns: float = 3.98
    """Per run, over all queues of a core: 128 runs take 0.51 us over four modes (descriptor modes)."""
    dma_run_engine_ns: float = 7.0
    """The least time of one run in its DMA engine."""
    dma_copy_ns: float = 40.0
    """Per copy and engine (DMA plot, descriptor modes: 1.475 to 1.481 us for 128 x 4 KiB, of which 1.425 are bytes)."""
    dma_trigger_ns: float = 60.0
    """What starting a transfer costs the queue of the engine that starts it (assumed: one instruction slot)."""
    dma_start_ns: Mapping[str, float] = None  # type: ignore[assignment]
    """Trigger to first byte by descriptor generation (exp profile: software 0.61 to 0.73 us, others 0.89 to 1.00
    us)."""
    dma_complete_ns: float = 300.0
    """Last byte to dependent instruction (exp profile: 0.30 to 0.32 us)."""
    dma_software_ns: float = 500.0
    """GpSimd time for the descriptors of one software-generated transfer (assumed)."""
    launch_ns: float = 0.0
    """From the call to the kernel's first instruction. None here: recorded profiles begin with the first instruction;
    a host's timer does not, so a calibration fits it."""
    dma_transpose: Mapping[str, float] = None  # type: ignore[assignment]
    """Rate of a transposing transfer relative to a plain one, by where it reads (derived)."""


_ISSUE: Final = {"tensor": 4.0, "vector": 50.0, "scalar": 50.0, "gpsimd": 50.0, "sync": 50.0}
_ISSUE_TRN1: Final = {**_ISSUE, "vector": 96.0, "scalar": 103.0}
"""Of 3,072 pairs of 512 elements, 1.010 us each; of eight activations and tensor_scalar, 0.468 us each (recorded Trn1
profiles: rope, silu, adamw)."""
_LATENCY: Final = {"tensor": 27.0, "vector": 100.0, "scalar": 240.0, "gpsimd": 100.0, "sync": 60.0}
_START: Final = {"swdge": 670.0, "hwdge": 900.0, "none": 900.0, "unknown": 900.0}
_TRANSPOSE: Final = {"hbm": 0.9, "chip": 0.5}

_TRN2: Final = Rates(issue_ns=_ISSUE, latency_ns=_LATENCY, dma_start_ns=_START, dma_transpose=_TRANSPOSE)

RATES: Final[Mapping[str, Rates]] = {
    "trn1": replace(
        _TRN2,
        issue_ns=_ISSUE_TRN1,
        vector_perf_modes=False,
        vector_pair_fp32=2,
        reciprocal_cycles=2.4,
        dma_engine_rate=17.0,
        fast_weight_load=1,
    ),
    "trn2": _TRN2,
    "trn3": replace(_TRN2, dma_engine_rate=33.0),
}
