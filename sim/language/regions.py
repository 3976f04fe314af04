"""Memory regions, number formats and sizes of ``nki.language``."""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim.builder import LIVE
from nki_anvil.sim.chips import Chip, chip
from nki_anvil.sim.dtypes import DTYPES, DType
from nki_anvil.sim.memory import MemoryRegion

sbuf: Final = MemoryRegion.sbuf
psum: Final = MemoryRegion.psum
hbm: Final = MemoryRegion.private_hbm
private_hbm: Final = MemoryRegion.private_hbm
shared_hbm: Final = MemoryRegion.shared_hbm

bool_: Final = DTYPES["bool"]
int8: Final = DTYPES["int8"]
int16: Final = DTYPES["int16"]
int32: Final = DTYPES["int32"]
uint8: Final = DTYPES["uint8"]
uint16: Final = DTYPES["uint16"]
uint32: Final = DTYPES["uint32"]
float16: Final = DTYPES["float16"]
bfloat16: Final = DTYPES["bfloat16"]
float32: Final = DTYPES["float32"]
tfloat32: Final = DTYPES["tfloat32"]
float8_e4m3: Final = DTYPES["float8_e4m3"]
float8_e5m2: Final = DTYPES["float8_e5m2"]
float8_e4m3fn: Final = DType("float8_e4m3fn")
float8_e5m2_x4: Final = DType("float8_e5m2_x4")
float8_e4m3fn_x4: Final = DType("float8_e4m3fn_x4")
float8_e8m0fnu: Final = DType("float8_e8m0fnu")
float4_e2m1fn_x4: Final = DType("float4_e2m1fn_x4")


def is_hbm(buffer: Any) -> bool:
    """Whether a region is in HBM."""
    return not MemoryRegion(buffer).on_chip


def is_on_chip(buffer: Any) -> bool:
    """Whether a region is SBUF or PSUM."""
    return MemoryRegion(buffer).on_chip


def is_psum(buffer: Any) -> bool:
    """Whether a region is PSUM."""
    return MemoryRegion(buffer) is psum


def is_sbuf(buffer: Any) -> bool:
    """Whether a region is SBUF."""
    return MemoryRegion(buffer) is sbuf


def _chip() -> Chip:
    """The live trace's chip; outside of a trace, where modules read sizes as they are imported, trn2."""
    builder = LIVE.get(None)
    return chip(builder.chip if builder else "trn2")


class _TileSize:
    """Sizes of tiles on the chip that the kernel is traced for (nki.language.tile_size)."""

    bn_stats_fmax = 512
    sbuf_min_align = 1

    @property
    def pmax(self) -> int:
        return _chip().partitions

    @property
    def psum_bank_fmax_bytes(self) -> int:
        return _chip().psum_bank_bytes

    @property
    def psum_bank_fmax(self) -> int:
        return _chip().psum_bank_bytes // 4

    psum_fmax = psum_bank_fmax

    @property
    def psum_num_banks(self) -> int:
        return _chip().psum_banks

    @property
    def psum_min_align(self) -> int:
        return _chip().psum_min_align

    @property
    def gemm_stationary_fmax(self) -> int:
        return _chip().stationary_free_max

    @property
    def gemm_moving_fmax(self) -> int:
        return _chip().moving_free_max

    @property
    def sbuf_fmax_bytes(self) -> int:
        return _chip().sbuf_usable_partition_bytes

    total_available_sbuf_size = sbuf_fmax_bytes

    @property
    def sbuf_fmax(self) -> int:
        return _chip().sbuf_usable_partition_bytes // 4

    @property
    def sbuf_size_bytes(self) -> int:
        """All of it, also what the compiler keeps for itself: "total SBUF capacity" to the documents."""
        return _chip().sbuf_partition_bytes * _chip().partitions


tile_size: Final = _TileSize()
