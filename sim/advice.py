"""One line of advice per cause of lost time: data that gaps quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LOWERS_PRECISION: Final[Mapping[str, frozenset[str]]] = {
    "vector_precision": frozenset({"float32", "tfloat32"}),
    "fp32_passes": frozenset({"float32"}),
    "matmul_rate": frozenset({"float32", "tfloat32", "bfloat16", "float16"}),
}
"""Gaps that are closed by a smaller format, and the precisions of a problem that forbid it."""

ADVICE: Final[Mapping[str, str]] = {
    "small_transfers": "Move more per transfer: rows of 2 KiB or more per partition over 128 partitions use the"
    " bandwidth.",
    "strided_transfers": "Load rows as they lie in memory and rearrange on chip (nc_transpose, or an access"
    " pattern on the"
    " tile): every contiguous run costs a descriptor of its own.",
    "few_dma_engines": "Spread the transfer over 128 partitions: each DMA engine serves eight of them.",
    "reloads": "Keep the tile in SBUF and reuse it: hoist the load out of the inner loop, or block so that the"
    " operand stays.",
    "spills": "Shrink what is live at once (smaller blocks, tiles declared in the innermost loop): SBUF is overfull.",
    "dma_start_latency": "Issue loads earlier so that about 1.3 us of start and completion hide behind other work.",
    "serialised_buffers": "Allocate the tile inside the loop, or rotate two or three of them, so that the next"
    " iteration"
    " need not wait for this one to be read.",
    "psum_bank_stalls": "Rotate over several PSUM banks, and evacuate each promptly, so that matmuls need not wait.",
    "semaphore_waits": "Give the engines independent tiles to work on, so that handing a result over is not"
    " waited for.",
    "activation_table_loads": "Group activations by function, or compute one of them on the vector engine: each"
    " change of"
    " the function set loads a table for about 1.3 us.",
    "fp32_passes": "If the tolerance allows, multiply in bf16 or tf32: an fp32 matmul takes four passes.",
    "matmul_rate": "If the tolerance allows, multiply in fp8 with double rows: twice the contraction in the same time.",
    "transposes": "Choose layouts or swap stationary and moving so that the transpose, and its copy out of"
    " PSUM, go away.",
    "weight_loads": "Move longer rows past each stationary tile: loading it is not hidden behind the previous matmul.",
    "short_stationary": "Make the short operand the moving one: a narrow stationary tile leaves array columns idle.",
    "underfilled_array": "Contract over 128 partitions, or pack row tiles: rows of the array are idle.",
    "small_instructions": "Work on longer free dimensions: below a few hundred elements the fixed cost per"
    " instruction rules.",
    "underfilled_partitions": "Fold another dimension into the partitions: lanes are idle.",
    "slow_operations": "Apply the slow operation to the small operand ([P, 1] instead of [P, N]), or on another"
    " engine.",
    "vector_precision": "If the tolerance allows, keep these operands in 16 bits in SBUF: the vector engine is"
    " then two to"
    " four times as fast.",
    "unfused_instructions": "Fuse: tensor_scalar takes two operations, activation takes scale, bias and a reduction.",
    "unbalanced_engines": "Let the scalar engine (or GpSimd, from SBUF) take a part of the vector engine's copies.",
    "clock_ramp": "Keep the tensor engine fed: after an idle time its clock takes about 3 us to come back.",
    "unhidden_compute": "Overlap with transfers: split the work into tiles that are loaded while others are computed.",
}
"""By the name of the gap."""
