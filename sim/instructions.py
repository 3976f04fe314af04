"""The instruction table: every instruction of a NeuronCore-v3, its operand slots, its engines, its immediate values.

The table is the meeting point of the frontends, which build programs out of it, and of execution, checks and cost,
which each hold one function per name. An operand's slot is known by its position: writes first, then reads, in the
order given.
Signatures follow the public stubs of ``nki.isa`` (NKI 0.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "dma", "sync")
"""Order is part of the program format."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row of the table. A trailing ``?`` in a slot marks it optional; ``engines`` begins with the default."""

    name: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    engines: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    """Written slots whose old content also counts (accumulators, predicated copies, what is written in part)."""

    @property
    def slots(self) -> tuple[str, ...]:
        """All slots in operand order, without their ``?``."""
        return tuple(slot.rstrip("?") for slot in (*self.writes, *self.reads))


def _row(
    name: str, writes: str, reads: str, engines: str, attributes: str = "", updates: str = ""
) -> tuple[str, Instruction]:
    fields = [tuple(text.split()) for text in (writes, reads, engines, attributes, updates)]
    return name, Instruction(name, *fields)


TABLE: Final[dict[str, Instruction]] = dict(
    [
        # data movement
        _row("dma_copy", "dst", "src", "dma", "oob_mode dge_mode trigger"),
        _row("dma_transpose", "dst", "src", "dma", "axes oob_mode dge_mode"),
        _row("dma_compute", "dst", "src0 src1? src2? src3? src4? src5? src6? src7? src8? src9? src10? src11? src12?"
             " src13? src14? src15?", "dma", "reduce_op scales unique_indices oob_mode", "dst"),
        _row("tensor_copy", "dst", "src", "vector scalar gpsimd"),
        _row("tensor_copy_predicated", "dst", "src? predicate", "vector", "src_value reverse_pred", "dst"),
        _row("memset", "dst", "", "vector gpsimd", "value"),
        _row("nc_stream_shuffle", "dst", "src", "vector", "shuffle_mask", "dst"),
        _row("local_gather", "dst", "src_buffer index", "gpsimd", "num_elem_per_idx num_valid_indices", "dst"),
        _row("nc_n_gather", "dst", "data indices", "gpsimd"),
        _row("sendrecv", "dst", "src", "dma", "send_to_rank recv_from_rank pipe_id dma_engine"),
        _row("core_barrier", "", "data", "gpsimd vector scalar tensor sync", "cores"),
        # tensor engine
        _row("nc_matmul", "dst", "stationary moving", "tensor", "is_stationary_onezero is_moving_onezero is_transpose"
             " accumulate tile_position tile_size perf_mode inferred", "dst"),
        _row("nc_transpose", "dst", "data", "tensor vector"),
        # elementwise
        _row("tensor_tensor", "dst", "data1 data2", "vector gpsimd", "op"),
        _row("tensor_scalar", "dst", "data operand0? operand1?", "vector scalar gpsimd",
             "op0 value0 reverse0 op1 value1 reverse1"),
        _row("scalar_tensor_tensor", "dst", "data operand0? operand1", "vector", "op0 value0 reverse0 op1 reverse1"),
        _row("activation", "dst reduce_res?", "data bias? scale?", "scalar",
             "op bias_value scale_value reduce_op reduce_cmd", "reduce_res"),
        _row("activation_reduce", "dst reduce_res", "data bias? scale?", "scalar",
             "op bias_value scale_value reduce_op"),
        _row("reciprocal", "dst", "data", "vector"),
        _row("select_reduce", "dst reduce_res?", "predicate on_true on_false?", "vector",
             "on_false_value reduce_cmd reduce_op reverse_pred", "reduce_res"),
        _row("range_select", "dst reduce_res?", "on_true_tile bound0 bound1", "vector",
             "comp_op0 comp_op1 reduce_cmd reduce_op range_start on_false_value", "reduce_res"),
        _row("affine_select", "dst", "on_true_tile", "gpsimd",
             "pattern channel_multiplier on_false_value cmp_op offset"),
        _row("iota", "dst", "", "gpsimd", "pattern offset channel_multiplier"),
        _row("dropout", "dst", "data prob?", "vector", "prob_value"),
        _row("rng", "dst", "", "vector gpsimd"),
        _row("set_rng_seed", "", "src_seeds", "vector"),
        _row("rand_set_state", "", "src_seeds", "gpsimd vector"),
        _row("rand_get_state", "dst", "", "gpsimd vector"),
        # reductions, scans, sorting
        _row("tensor_reduce", "dst", "data", "vector", "op axes negate keepdims"),
        _row("tensor_partition_reduce", "dst", "data", "gpsimd", "op"),
        _row("tensor_scalar_reduce", "dst reduce_res?", "data operand0? reduce_init?", "vector",
             "op0 value0 reverse0 reduce_op reduce_cmd reduce_init_value reduce_res_negate", "reduce_res"),
        _row("tensor_scalar_cumulative", "dst", "src operand0? operand1?", "vector",
             "op0 op1 value0 value1 reduce_cmd"),
        _row("tensor_tensor_scan", "dst", "data0 data1 initial?", "vector", "initial_value op0 op1 reverse0 reverse1"),
        _row("bn_stats", "dst", "data", "vector"),
        _row("bn_aggr", "dst", "data", "vector"),
        _row("max8", "dst", "src", "vector"),
        _row("nc_find_index8", "dst", "data vals", "vector", "marked"),
        _row("nc_match_replace8", "dst dst_idx?", "data vals", "vector", "imm descending"),
        _row("topk", "val_dst idx_dst", "src", "gpsimd", "n snake"),
        _row("nonzero_with_count", "dst", "src", "gpsimd", "index_offset padding_val", "dst"),
        _row("sequence_bounds", "dst", "segment_ids", "gpsimd"),
        # registers
        _row("register_move", "", "", "sync", "register source value"),
        _row("register_load", "", "src", "sync", "register"),
        _row("register_store", "dst", "", "sync", "register"),
        # debugging
        _row("device_print", "", "tensor", "sync", "prefix"),
        # scalars of NKI 0.7
        _row("register_compute", "", "", "sync", "register op source other value reverse0"),
    ]
)  # fmt: skip

NAMES: Final = tuple(TABLE)
"""Order is part of the program format: new instructions are appended."""
