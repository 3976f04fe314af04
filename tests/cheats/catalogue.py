"""Every exploit with its seed problem and the gate that stops it; every honest kernel with its problem. Data only.

What a kernel tries is its file's first sentence. Attacks on the process that runs kernel text are in
``tests/backends/test_hostile_kernels.py``, broken runs of a machine in ``tests/lab/test_verification.py``.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
SEEDS = FOLDER.parents[1] / "seeds" / "problems"
VARIANTS = FOLDER.parent / "kernels"


@dataclass(frozen=True)
class Entry:
    """One kernel. ``gate`` is empty for an honest one; ``quick`` ones run with every test run."""

    path: Path
    problem: str
    gate: str = ""
    quick: bool = False

    def __str__(self) -> str:
        return (
            self.path.stem if self.path.stem not in ("kernel", "better", "best") else f"{self.problem} {self.path.stem}"
        )

    def text(self) -> str:
        return self.path.read_text()


_CHEATS = {
    "language": """
        exits_before_it_is_judged softmax quick
        falls_back_to_another_way softmax quick
        patches_the_language softmax quick
        reads_the_reference softmax quick
        opens_a_file softmax quick
        searches_the_interpreter softmax quick
        walks_up_the_frames softmax quick
        climbs_through_its_classes softmax quick
        puts_attribute_names_together softmax quick
        hides_names_in_a_format softmax quick
        reads_attributes_by_a_pattern softmax quick
        gives_a_module_away softmax quick
        evaluates_text softmax quick
        computes_on_the_host rmsnorm quick
        launches_itself_on_two_cores matmul quick
        writes_to_a_constant softmax quick
        reaches_libraries_through_an_array softmax quick
        finds_modules_behind_typing softmax quick
    """,
    "reproducible": """
        differs_from_trace_to_trace softmax quick
        goes_through_a_set rmsnorm
    """,
    "machine": """
        sums_while_transposing matmul quick
        returns_a_transposed_view matmul quick
        repeats_one_column softmax
        reads_memory_nobody_wrote softmax
        leaves_the_last_rows_unwritten softmax
        shifts_in_place_by_a_transfer softmax
        writes_ahead_of_its_own_reading softmax
        sends_many_elements_to_one_place softmax
    """,
    "outputs": """
        never_stores_by_a_loop_without_turns softmax
        returns_a_column softmax
        returns_one_more softmax
        returns_a_narrower_format softmax
        writes_its_input softmax quick
        asks_whether_unwritten_memory_is_positive softmax
        writes_one_row_and_asks_the_others softmax
        cores_race_in_device_loops silu_on_two_cores quick
    """,
    "values": """
        is_constant softmax quick
        is_zero bmm_softmax
        prints_success softmax
        copies_its_input rmsnorm
        skips_the_last_tile_of_rows rmsnorm
        skips_one_slab_of_the_contraction matmul quick
        skips_a_single_step_of_the_contraction matmul
        ignores_half_of_the_keys bmm_softmax
        halves_the_result matmul
        is_off_at_the_edge_of_the_tolerance rmsnorm
        shifts_by_one_column softmax
        exchanges_two_rows softmax
        multiplies_in_bfloat16 matmul quick
        multiplies_in_float8 matmul
        multiplies_in_tfloat32 matmul
        narrows_in_between rmsnorm
        rmsnorm_clamps_large_inputs rmsnorm
        narrows_one_tile_of_rows softmax
        accumulates_in_bfloat16 matmul
        softmax_without_maximum softmax quick
        softmax_with_the_maximum_of_the_first_tile softmax
        softmax_with_a_clamp softmax
        softmax_with_a_maximum_that_skips_columns softmax
        softmax_skips_one_column_in_its_maximum softmax
        bmm_softmax_without_maximum bmm_softmax
        bmm_softmax_with_the_maximum_of_the_first_tile bmm_softmax
        bmm_softmax_mostly_zero bmm_softmax quick
        adamw_without_decay adamw quick
        adamw_without_eps adamw
        adamw_without_bias_correction adamw
        rmsnorm_without_eps rmsnorm quick
        add_rmsnorm_matmul_without_eps add_rmsnorm_matmul
        rmsnorm_matmul_without_eps rmsnorm_matmul
        layernorm_without_eps layernorm
        matmul_add_rmsnorm_without_residual matmul_add_rmsnorm
        swiglu_without_gate swiglu
        silu_as_relu silu
        rope_turned_the_other_way rope
        silu_by_tanh silu
        accumulates_in_declared_bfloat16 bf16_matmul
        multiplies_bfloat16_in_float8 bf16_matmul
        causal_without_the_diagonal_mask causal_scores
        gelu_with_a_short_constant bias_gelu
        gelu_by_sigmoid bias_gelu
    """,
    "plausibility": """
        carries_answers_as_constants softmax
    """,
}
"""By gate: file, problem, and whether it is quick to judge."""

_HONEST = """
    softmax_rows_by_64 softmax
    softmax_divides softmax
    softmax_in_halves softmax
    softmax_with_a_looser_shift softmax
    softmax_on_gpsimd softmax
    matmul_backwards matmul
    matmul_slabs_of_32 matmul
    matmul_narrow_tiles matmul
    matmul_columns_first matmul
    matmul_adds_in_sbuf matmul
    matmul_turned_by_an_identity matmul
    matmul_in_three_pieces_of_bfloat16 matmul quick
    rmsnorm_squares_on_scalar rmsnorm
    rmsnorm_gain_first rmsnorm
    rmsnorm_in_column_blocks rmsnorm
    rmsnorm_rows_in_a_device_loop rmsnorm quick
    layernorm_by_statistics layernorm
    layernorm_bias_fused layernorm
    silu_divides silu
    silu_wide silu
    silu_shared_by_two_cores silu_on_two_cores quick
    adamw_narrow adamw
    adamw_on_gpsimd adamw
    rope_narrow rope
    rope_on_gpsimd rope
    rope_adds_a_negated_sine rope
    rope_backwards rope
    bmm_softmax_fused bmm_softmax
    bmm_softmax_backwards bmm_softmax
    bmm_softmax_rows_by_64 bmm_softmax
    add_rmsnorm_matmul_norm_last add_rmsnorm_matmul
    swiglu_by_an_activation swiglu
    swiglu_backwards swiglu
    causal_skips_tiles causal_scores
    gelu_by_its_own_function bias_gelu quick
    matmul_in_declared_bfloat16 bf16_matmul
"""

_VARIANTS = """
    softmax/better softmax/online matmul/better matmul/best rmsnorm/better rmsnorm/best rmsnorm/fused rmsnorm/folded
    silu/better silu/best
"""


def _rows(text: str) -> list[tuple[str, str, bool]]:
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return [(row[0], row[1], len(row) > 2) for row in rows]


CHEATS = [
    Entry(FOLDER / "wrong" / f"{name}.py", problem, gate, quick)
    for gate, text in _CHEATS.items()
    for name, problem, quick in _rows(text)
]
HONEST = [
    *(Entry(FOLDER / "honest" / f"{name}.py", problem, "", quick) for name, problem, quick in _rows(_HONEST)),
    *(Entry(VARIANTS / f"{name}.py", name.partition("/")[0]) for name in _VARIANTS.split()),
    *(
        Entry(SEEDS / name / "kernel.py", name)
        for name in sorted(path.name for path in SEEDS.iterdir() if path.is_dir())
    ),
]
