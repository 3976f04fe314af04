"""What a text is about, by the field's own words: operator families, engines, bottleneck, technique.

An author's tags come first; this fills in those that were left empty.
"""

from __future__ import annotations

import re
from typing import Final

from nki_anvil.memory.experience import Draft, Tags
from nki_anvil.memory.text import words

FAMILIES: Final[dict[str, str]] = {
    "matmul": "matmul gemm bmm projection linear lora nc_matmul",
    "norm": "norm rmsnorm layernorm normalisation normalization",
    "softmax": "softmax logsumexp",
    "attention": "attention gqa mha flash kv",
    "elementwise": "elementwise silu gelu relu swiglu activation",
    "rope": "rope rotary",
    "optimizer": "adamw adam optimizer sgd",
    "scan": "mamba scan ssm cumulative",
    "reduction": "reduction tensor_reduce",
    "transpose": "transpose dma_transpose nc_transpose",
}

ENGINES: Final[dict[str, str]] = {
    "tensor": "tensore nc_matmul nc_transpose",
    "vector": "vectore tensor_tensor tensor_scalar tensor_reduce scalar_tensor_tensor reciprocal",
    "scalar": "scalare activation activation_reduce",
    "gpsimd": "gpsimd iota affine_select local_gather",
    "dma": "dma dma_copy dma_transpose hwdge swdge descriptor",
}

BOTTLENECKS: Final[dict[str, str]] = {
    "memory": "bandwidth dma hbm reload spill descriptor transfer",
    "compute": "flops tensore warm utilisation",
    "pipeline": "pipeline serialised semaphore overlap",
    "underutilized": "idle latency short overhead",
}

TECHNIQUES: Final[dict[str, str]] = {
    "reload_avoidance": "reload hoist reread resident reuse invariant",
    "fusion": "fuse fused fusion spill intermediate",
    "buffer_lifetime": "lifetime capacity overflow gca046",
    "double_buffering": "prefetch double buffer overlap",
    "instruction_merging": "combine combined scalar_tensor_tensor activation_reduce tensor_scalar_reduce accumulate",
    "large_dma": "coalesce descriptor contiguous transfer kib",
    "full_partitions": "lanes partition fold",
    "wide_free_dimension": "wide wider short cycles fixed",
    "transpose_avoidance": "transpose dma_transpose nc_transpose layout",
    "stationary_choice": "stationary moving swap",
    "low_precision": "bfloat16 bf16 fp8 double_row precision",
    "engine_balance": "engine balance alternate evacuation",
    "descriptor_generation": "hwdge swdge dge",
    "two_cores": "lnc lnc2 shard core_barrier",
    "activation_table": "table act_table_load function",
    "psum_banks": "psum bank banks rotate",
    "warm_tensor_engine": "warm clock throttle",
    "blocking": "block blocking tile tiling",
}
"""The optimisation menu's names; one answer of memory holds at most one experience of each."""

_TAG: Final = re.compile(r"(?:[<>]=?)?[A-Za-z0-9][A-Za-z0-9._-]{0,39}")

FIELD: Final = frozenset(
    word
    for table in (FAMILIES, ENGINES, BOTTLENECKS, TECHNIQUES)
    for name, meaning in table.items()
    for word in (name, *meaning.split())
)
"""The field's own words: they say more about a situation than others."""


def ranked(text: str, table: dict[str, str]) -> list[str]:
    """The table's names that the text speaks of, the most mentioned first."""
    said = words(text)
    scores = {name: sum(said.count(word) for word in meaning.split()) for name, meaning in table.items()}
    return sorted((name for name, score in scores.items() if score), key=lambda name: -scores[name])


def families(text: str) -> tuple[str, ...]:
    """Operator families in a problem's name or a sentence; ``matmul_add_rmsnorm`` has two."""
    said = {*words(text)}
    squeezed = text.lower()
    return tuple(
        name
        for name, meaning in FAMILIES.items()
        if any(word in said or (len(word) > 4 and word in squeezed) for word in meaning.split())
    )


def plain(tags: Tags) -> Tags:
    """The tags that are single words; whatever else stands there is text of whoever wrote it, and nobody checked it."""
    return Tags(
        families=tuple(filter(_word, tags.families)),
        bottleneck=_word(tags.bottleneck),
        engines=tuple(filter(_word, tags.engines)),
        dtype=_word(tags.dtype),
        shape_class=_word(tags.shape_class),
        chip=_word(tags.chip),
        nki_version=_word(tags.nki_version),
        technique=_word(tags.technique),
    )


def _word(said: str) -> str:
    return said if _TAG.fullmatch(said) else ""


def tagged(draft: Draft) -> Draft:
    """The draft with its empty tags filled in from what it says."""
    text = " ".join((draft.title, draft.title, draft.when_to_use, draft.advice))
    given = draft.tags
    tags = Tags(
        families=given.families or families(f"{draft.title} {draft.when_to_use}"),
        bottleneck=given.bottleneck or _first(ranked(text, BOTTLENECKS)),
        engines=given.engines or tuple(sorted(ranked(text, ENGINES))),
        dtype=given.dtype,
        shape_class=given.shape_class,
        chip=given.chip,
        nki_version=given.nki_version,
        technique=given.technique or _first(ranked(text, TECHNIQUES)),
    )
    return draft.model_copy(update={"tags": tags})


def _first(names: list[str]) -> str:
    return names[0] if names else ""
