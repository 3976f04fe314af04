"""How much one instruction can address, and the fixed sizes of special instructions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nki_anvil.sim.chips import starts
from nki_anvil.sim.rules.reading import Reading, Tile, Use
from nki_anvil.sim.rules.rule import BETA1, Rule, Violation

_SBUF_ELEMENTS = 1 << 16
_PSUM_ELEMENTS = 1 << 12
_STEP = 1 << 15
_FREE_DIMENSIONS = 4
_FEWER = {("tensor_scalar_reduce", "data"): 3, ("tensor_scalar_reduce", "dst"): 3}
"""Free dimensions where a page names fewer, whether they merge or not."""
_EIGHT = {"max8": ("src",), "nc_find_index8": ("data",), "nc_match_replace8": ("data",)}

_RANKS = {
    "max8": {"src": 3, "dst": 2},
    "nc_find_index8": {"data": 3, "vals": 3, "dst": 2},
}
"""Of how many dimensions a tile is at most."""
_TOPK = (8, 1 << 16)
_FOUND = 1 << 15
_COUNTED = {
    "iota": ("pattern", "offset", "channel_multiplier"),
    "affine_select": ("pattern", "offset", "channel_multiplier"),
    "nonzero_with_count": ("index_offset", "padding_val"),
    "register_move": ("value",),
}
"""Integers that an instruction is told, which are words of the machine's."""
_INT32 = (-(1 << 31), (1 << 31) - 1)
_REGISTER = (-(1 << 31), (1 << 32) - 1)


def _breach(use: Use, message: str) -> Violation:
    return Violation(use.line, message, use.count)


def _engine_tiles(reading: Reading) -> Iterator[tuple[Use, str, Tile]]:
    for use in reading.uses:
        if use.engine not in ("dma", "sync"):
            yield from ((use, slot, tile) for slot, tile in use.tiles.items() if tile.on_chip)


def free_pattern(tile: Tile) -> list[tuple[int, int]]:
    """The free (step, count) pairs with neighbours that continue each other merged, as an encoder would."""
    merged: list[tuple[int, int]] = []
    for step, count in zip(tile.steps[1:], tile.shape[1:], strict=True):
        if count == 1:
            continue
        if merged and merged[-1][0] == step * count:
            merged[-1] = (step, merged[-1][1] * count)
        else:
            merged.append((step, count))
    return merged


def _sizes(reading: Reading) -> Iterator[Violation]:
    for use, slot, tile in _engine_tiles(reading):
        most = _PSUM_ELEMENTS if tile.memory == "psum" else _SBUF_ELEMENTS
        seen = math.prod(count for step, count in free_pattern(tile) if step)  # a step of 0 repeats what is there
        if seen > most:
            yield _breach(use, f"{use.name} sees {seen} elements per partition of {slot}; {most} is the most.")


def _patterns(reading: Reading) -> Iterator[Violation]:
    for use, slot, tile in _engine_tiles(reading):
        pattern = free_pattern(tile)
        if len(pattern) > _FREE_DIMENSIONS:
            yield _breach(
                use, f"{use.name} needs {len(pattern)} free dimensions for {slot}; hardware has {_FREE_DIMENSIONS}."
            )
        if reading.program.version != BETA1 and (most := _FEWER.get((use.name, slot))) and len(tile.shape) > most + 1:
            yield _breach(use, f"{use.name} takes {slot} of {most} free dimensions, not {list(tile.shape)}.")
        wide = [step for step, _ in pattern if not -_STEP <= step < _STEP]
        if wide:
            yield _breach(use, f"{use.name} steps by {wide[0]} elements in {slot}; a step is a 16-bit number.")


def _statistics(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("bn_stats"):
        if use.tiles["data"].elements > 512:
            yield _breach(use, f"bn_stats of {use.tiles['data'].elements} elements per partition; 512 is the most.")
        if use.tiles["dst"].elements != 6:
            yield _breach(use, f"bn_stats writes 6 elements per partition; dst is {list(use.tiles['dst'].shape)}.")
    for use in reading.named("bn_aggr"):
        if use.tiles["data"].elements % 3 or use.tiles["dst"].elements != 2:
            yield _breach(use, "bn_aggr reads triples and writes 2 elements per partition.")


def _eights(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_EIGHT):
        for slot in _EIGHT[use.name]:
            count = use.tiles[slot].elements
            if not 8 <= count <= 16384:
                yield _breach(use, f"{use.name} takes 8 to 16384 elements per partition, not {count}.")
        for slot in ("vals", "dst_idx", *(() if use.name == "nc_match_replace8" else ("dst",))):
            if slot in use.tiles and use.tiles[slot].elements != 8:
                yield _breach(
                    use, f"{use.name} has {slot} of 8 elements per partition, not {use.tiles[slot].elements}."
                )

    if reading.program.version != BETA1:
        yield from _ranks(reading)


def _ranks(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_RANKS):
        for slot, most in _RANKS[use.name].items():
            if len(use.tiles[slot].shape) > most:
                shape = list(use.tiles[slot].shape)
                yield _breach(use, f"{use.name} takes {slot} of at most {most} dimensions, not {shape}.")


def _affine(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("iota", "affine_select"):
        dst, total = use.tiles["dst"], 1
        for _, count in use["pattern"]:
            total *= count
        if len(use["pattern"]) > 4:
            yield _breach(use, f"{use.name} takes a pattern of up to 4 dimensions, not {len(use['pattern'])}.")
        if total != dst.elements:
            yield _breach(use, f"{use.name} counts {total} elements per partition; dst has {dst.elements}.")
        for slot, tile in use.tiles.items():
            if tile.memory != "sbuf":
                yield _breach(use, f"{use.name} has {slot} in {tile.memory}; it must be in sbuf.")


def _gathers(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("local_gather"):
        source, index = use.tiles["src_buffer"], use.tiles["index"]
        if source.partitions != index.partitions or source.partitions % 16 or source.start_partition % 16:
            yield _breach(
                use, f"local_gather takes 16 partitions per core, not {source.partitions} and {index.partitions}."
            )
        if source.start_partition != index.start_partition:
            yield _breach(use, "local_gather takes the indices of each core from the 16 partitions of its data.")
        if use["num_elem_per_idx"] not in (1, 2, 4, 8, 16, 32):
            yield _breach(
                use, f"local_gather takes runs of 1 to 32 elements by powers of two, not {use['num_elem_per_idx']}."
            )
        if (use["num_valid_indices"] or index.elements * 16) > 4096:
            yield _breach(use, "local_gather takes at most 4096 indices per core.")
        found = (use["num_valid_indices"] or index.elements * 16) * use["num_elem_per_idx"]
        if reading.program.version != BETA1 and found != use.tiles["dst"].elements:
            yield _breach(
                use, f"local_gather finds {found} elements per partition; dst has {use.tiles['dst'].elements}."
            )
        if index.dtype != "uint16" or use.tiles["dst"].dtype != source.dtype:
            yield _breach(use, "local_gather takes uint16 indices and keeps the format of its data.")
    yield from _within_lanes(reading)


def _within_lanes(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_n_gather"):
        if use.tiles["indices"].dtype != "uint32" or use.tiles["dst"].dtype != use.tiles["data"].dtype:
            yield _breach(use, "nc_n_gather takes uint32 indices and keeps the format of its data.")
    for use in reading.named("nonzero_with_count"):
        if use.tiles["src"].start_partition != use.tiles["dst"].start_partition:
            yield _breach(use, "nonzero_with_count has a dst in other partitions than its src: each core has its own.")


def _shuffles(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("nc_stream_shuffle"):
        mask, src, dst = use["shuffle_mask"], use.tiles["src"], use.tiles["dst"]
        if len(mask) != 32 or any(not (0 <= entry < 32 or entry == 255) for entry in mask):
            yield _breach(use, "nc_stream_shuffle takes 32 entries of 0 to 31, or 255.")
        if src.dtype != dst.dtype or src.elements != dst.elements:
            yield _breach(
                use, f"nc_stream_shuffle keeps format and size: {src.dtype} {src.shape} to {dst.dtype} {dst.shape}."
            )
        places = starts(max(src.partitions, dst.partitions))
        if not {src.start_partition, dst.start_partition} <= {*places}:
            found = f"{src.partitions} partitions from {src.start_partition} to {dst.partitions} from"
            allowed = " or ".join(map(str, places))
            yield _breach(use, f"nc_stream_shuffle takes {found} {dst.start_partition}: both may start at {allowed}.")


def _topk(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("topk"):
        found = use.tiles["val_dst"].elements
        if not (_TOPK[0] <= use["n"] < _TOPK[1] and found < _FOUND):
            yield _breach(use, f"topk finds {found} of {use['n']} elements.")


def _words(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*_COUNTED):
        low, high = _REGISTER if use.name == "register_move" else _INT32
        for name in _COUNTED[use.name]:
            given = [step for step, _ in use[name]] if name == "pattern" else [use[name]]
            for value in given:
                if value is not None and not low <= value <= high:
                    yield _breach(use, f"{use.name} has {name} {value}, which 32 bits do not hold.")


RULES = (
    Rule("TRN2-AP-SIZE", "One instruction sees at most 64 Ki elements per partition of SBUF and 4 Ki of PSUM, without"
         " repetitions.", "error", "Split the free dimension over several instructions.",
         "Trainium/Inferentia2 Architecture Guide for NKI; nki.language.tile_size", _sizes),
    Rule("TRN2-AP-PATTERN", "An access has at most four free dimensions, tensor_scalar_reduce's three, with steps of 16"
         " bits.", "error", "Split the instruction, or lay the tile out so that dimensions merge.",
         "Trainium/Inferentia2 Architecture Guide for NKI, accessing SBUF/PSUM tensors using NKI;"
         " nki.isa.tensor_scalar_reduce", _patterns),
    Rule("TRN2-BN", "bn_stats takes 512 elements and writes 6; bn_aggr takes triples and writes 2.", "error",
         "Call bn_stats on blocks of 512 and aggregate them with one bn_aggr.", "nki.isa.bn_stats, nki.isa.bn_aggr",
         _statistics),
    Rule("TRN2-EIGHT", "max8, nc_find_index8 and nc_match_replace8 take 8 to 16384 elements and eight values, the"
         " first two of three dimensions at most, into two.", "error",
         "Pad short rows, combine the results of long ones, and flatten views of more dimensions.",
         "nki.isa.max8 and its relatives", _eights),
    Rule("TRN2-AFFINE", "iota and affine_select count exactly dst's elements, in SBUF, in up to four dimensions.",
         "error", "Let the pattern's counts multiply to the elements per partition.",
         "nki.isa.iota, nki.isa.affine_select",
         _affine),
    Rule("TRN2-GATHER", "Gathers on GpSimd keep the format, take uint16 or uint32 indices within their limits, and"
         " fill dst; each of its cores has the same 16 partitions of what it reads and counts.",
         "error", "See nisa.local_gather and nisa.nc_n_gather for the sizes: num_valid_indices * num_elem_per_idx is"
         " what each partition of dst holds.",
         "nki.isa.local_gather, nc_n_gather, nonzero_with_count; NKI release notes, 2.32: known issues",
         _gathers),
    Rule("TRN2-SHUFFLE", "nc_stream_shuffle takes a mask of 32 entries, keeps format and size, and starts on both"
         " sides where the larger of them may.", "error",
         "Use 255 for partitions that stay as they are, and slice both sides to the partitions that move.",
         "nki.isa.nc_stream_shuffle: mask, num_active_partitions", _shuffles),
    Rule("TRN2-TOPK", "topk looks at 8 to 65535 elements, and finds less than 32768.", "error",
         "Pad the row with the smallest number, or take the largest of several calls.", "nki.isa.topk, constraints",
         _topk),
    Rule("TRN2-INT32", "Offsets, steps and constants of instructions that count, and of registers, have 32 bits.",
         "error", "Count from a smaller offset.",
         "nki.isa.iota, affine_select, nonzero_with_count: int32; nki.isa.register_alloc: 32-bit registers", _words),
)  # fmt: skip
