"""The numbers of each Trainium chip, per NeuronCore unless a name says otherwise: limits for checks, clocks for cost.

Every number has its source: "guides" are the public architecture guides of the three generations and their comparison,
"profiler" the denominators that the profiler prints. What an instruction costs stands with the cost model, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Chip:
    """One generation. Bytes are bytes, clocks are GHz, bandwidths are GB/s (10^9), times are microseconds."""

    name: str
    neuroncore: int
    """Generation number as in ``nki.isa.nc_version``."""
    partitions: int
    """Rows of SBUF and PSUM, and of the tensor engine (all architecture guides)."""
    sbuf_partition_bytes: int
    """Physical SBUF bytes per partition (guides)."""
    sbuf_usable_partition_bytes: int
    """What a kernel may allocate per partition (guides)."""
    psum_partition_bytes: int
    """PSUM bytes per partition (guides)."""
    psum_bank_bytes: int
    """Bytes of one PSUM bank per partition (guides)."""
    psum_banks: int
    psum_min_align: int
    """Bytes that an address in PSUM is a multiple of (tile_size.psum_min_align)."""
    clocks_ghz: Mapping[str, float]
    """Engine clocks; ``sync`` and ``dma`` have none that is published (guides)."""
    stationary_free_max: int
    """Columns of the stationary operand (tile_size.gemm_stationary_fmax)."""
    moving_free_max: int
    """Columns of the moving operand (tile_size.gemm_moving_fmax)."""
    cores: int
    """NeuronCores per device (guides)."""
    dma_engines: int
    """DMA engines per core (guides)."""
    dma_engine_theoretical_gbps: float
    dma_engine_practical_gbps: float
    dma_core_theoretical_gbps: float
    dma_core_practical_gbps: float
    hbm_device_bytes: int
    hbm_device_gbps: float
    hbm_stack_gbps: float
    """One HBM stack, shared by two cores; the profiler's denominator of MBU (profiler)."""
    peak_tflops_bf16: float
    peak_tflops_fp32: float
    peak_tflops_fp8: float
    gpsimd_psum_access: bool = False
    """Whether GpSimd reaches PSUM (no generation in the table does)."""


_GIB: Final = 1 << 30

CHIPS: Final[Mapping[str, Chip]] = {
    "trn1": Chip(
        name="trn1",
        neuroncore=2,
        partitions=128,
        sbuf_partition_bytes=192 * 1024,
        sbuf_usable_partition_bytes=180_224,
        psum_partition_bytes=16 * 1024,
        psum_bank_bytes=2048,
        psum_min_align=4,
        psum_banks=8,
        clocks_ghz={"tensor": 2.8, "vector": 1.12, "scalar": 1.4, "gpsimd": 1.4},
        stationary_free_max=128,
        moving_free_max=512,
        cores=2,
        dma_engines=16,
        dma_engine_theoretical_gbps=27.2,
        dma_engine_practical_gbps=17.0,
        dma_core_theoretical_gbps=435.0,
        dma_core_practical_gbps=272.0,
        hbm_device_bytes=32 * _GIB,
        hbm_device_gbps=820.0,
        hbm_stack_gbps=820.0,  # two cores share the whole device
        peak_tflops_bf16=92.0,
        peak_tflops_fp32=23.0,
        peak_tflops_fp8=92.0,
    ),
    "trn2": Chip(
        name="trn2",
        neuroncore=3,
        partitions=128,
        sbuf_partition_bytes=224 * 1024,
        sbuf_usable_partition_bytes=212_984,  # 224 KiB - 16384 - 8
        psum_partition_bytes=16 * 1024,
        psum_bank_bytes=2048,
        psum_min_align=4,
        psum_banks=8,
        clocks_ghz={"tensor": 2.4, "vector": 0.96, "scalar": 1.2, "gpsimd": 1.2},
        stationary_free_max=128,
        moving_free_max=512,
        cores=8,
        dma_engines=16,
        dma_engine_theoretical_gbps=27.2,
        dma_engine_practical_gbps=23.0,
        dma_core_theoretical_gbps=435.0,
        dma_core_practical_gbps=368.0,
        hbm_device_bytes=96 * _GIB,
        hbm_device_gbps=2900.0,
        hbm_stack_gbps=716.8,
        peak_tflops_bf16=78.64,  # 2 * 128 * 128 * 2.4e9
        peak_tflops_fp32=20.0,
        peak_tflops_fp8=158.0,  # double_row
    ),
    "trn3": Chip(
        name="trn3",
        neuroncore=4,
        partitions=128,
        sbuf_partition_bytes=256 * 1024,
        sbuf_usable_partition_bytes=245_752,
        psum_partition_bytes=16 * 1024,
        psum_bank_bytes=2048,
        psum_min_align=4,
        psum_banks=8,
        clocks_ghz={"tensor": 2.4, "vector": 1.2, "scalar": 1.2, "gpsimd": 1.2},
        stationary_free_max=128,
        moving_free_max=4096,  # nc_matmul, NeuronCore-v4 and float32 destination
        cores=8,
        dma_engines=16,
        dma_engine_theoretical_gbps=38.4,
        dma_engine_practical_gbps=33.0,
        dma_core_theoretical_gbps=614.0,
        dma_core_practical_gbps=528.0,
        hbm_device_bytes=144 * _GIB,
        hbm_device_gbps=4700.0,
        hbm_stack_gbps=1175.0,  # a quarter of the device, as on trn2
        peak_tflops_bf16=79.0,
        peak_tflops_fp32=20.0,
        peak_tflops_fp8=315.0,
    ),
}


def chip(name: str) -> Chip:
    """The numbers of a chip; raises KeyError with the known names for any other."""
    if name not in CHIPS:
        raise KeyError(f"no chip is called {name!r}; known are {', '.join(CHIPS)}")
    return CHIPS[name]


_QUADRANTS: Final = ((32, (0, 32, 64, 96)), (64, (0, 64)), (128, (0,)))
"""How many partitions may start where (guides, all generations)."""


def starts(partitions: int) -> tuple[int, ...]:
    """Where an engine's access of some partitions may start."""
    return next((allowed for most, allowed in _QUADRANTS if partitions <= most), (0,))
