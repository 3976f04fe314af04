"""Partitions: at most 128, starting where an engine can start, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from nki_anvil.sim.chips import starts
from nki_anvil.sim.program import MEMORIES
from nki_anvil.sim.rules.engines import PAIRS
from nki_anvil.sim.rules.reading import Reading, Tile, Use
from nki_anvil.sim.rules.rule import Rule, Violation


def _too_many(reading: Reading) -> Iterator[Violation]:
    most, rows = reading.chip.partitions, reading.program.tables["tensors"]
    for tensor, count in enumerate(rows["partitions"].tolist()):
        if count > most and MEMORIES[int(rows["memory"][tensor])] in ("sbuf", "psum"):
            yield Violation(int(rows["line"][tensor]), f"A tensor has {count} partitions; the chip has {most}.")


def _engine_tiles(reading: Reading) -> Iterator[tuple[Use, Tile]]:
    for use in reading.uses:
        if use.engine not in ("dma", "sync"):
            yield from ((use, tile) for tile in use.tiles.values() if tile.on_chip)


def _bad_start(reading: Reading) -> Iterator[Violation]:
    for use, tile in _engine_tiles(reading):
        allowed = starts(tile.partitions)
        if tile.start_partition not in allowed and tile.partitions <= reading.chip.partitions:
            places = " or ".join(map(str, allowed))
            found = f"{tile.partitions} partitions from {tile.start_partition}"
            message = f"{use.name} touches {found}; it may start at {places}."
            yield Violation(use.line, message, use.count)


def _bad_step(reading: Reading) -> Iterator[Violation]:
    for use in reading.uses:
        for tile in use.tiles.values():
            if not tile.on_chip:
                continue
            if tile.partitions > 1 and tile.steps[0] != tile.row:
                message = (
                    f"{use.name} walks partitions in steps of {tile.steps[0]} elements; a partition has {tile.row}."
                )
                yield Violation(use.line, message, use.count)
            elif not tile.inside:
                message = f"{use.name} has a free pattern that leaves its partition of {tile.row} elements."
                yield Violation(use.line, message, use.count)


def _unaligned(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("tensor_tensor"):
        yield from _apart(use, *PAIRS["tensor_tensor"])


def _apart(use: Use, first: str, second: str) -> Iterator[Violation]:
    one, other = use.tiles[first], use.tiles[second]
    if one.memory == other.memory == "sbuf" and one.start_partition != other.start_partition:
        starts_at = f"{first} starts at partition {one.start_partition}, {second} at {other.start_partition}"
        yield Violation(use.line, f"{use.name} reads two tiles of SBUF: {starts_at}.", use.count)


def _several(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*(name for name in PAIRS if name != "tensor_tensor")):
        if use.tiles.keys() >= set(PAIRS[use.name]):
            yield from _apart(use, *PAIRS[use.name])


RULES = (
    Rule(
        code="TRN2-PART-128",
        text="A tensor on chip has at most 128 partitions.",
        severity="error",
        remedy="Split the first dimension into tiles of nl.tile_size.pmax, or fold part of it into the free dimension.",
        source="Trainium/Inferentia2 Architecture Guide for NKI; nki.language.tile_size",
        breaches=_too_many,
    ),
    Rule(
        code="TRN2-PART-START",
        text="An engine's access starts at partition 0, 32, 64 or 96 (up to 32 of them), 0 or 64 (up to 64), else 0.",
        severity="error",
        remedy="Lay the tile out so that it starts there, or move it with a DMA, which may start anywhere.",
        source="Trainium/Inferentia2 Architecture Guide for NKI, accessing SBUF/PSUM tensors using NKI",
        breaches=_bad_start,
    ),
    Rule(
        code="TRN2-PART-STEP",
        text="An access on chip takes consecutive partitions, and the same free pattern inside each of them.",
        severity="error",
        remedy="Let the pattern's first step be the elements per partition; stride over rows while loading from HBM.",
        source="NKI Access Patterns; Trainium/Inferentia2 Architecture Guide for NKI",
        breaches=_bad_step,
    ),
    Rule(
        code="TRN2-PART-PAIR",
        text="The two inputs of tensor_tensor start at the same partition where both are in SBUF.",
        severity="error",
        remedy="Copy one of them with nisa.tensor_copy into a tile that starts where the other does.",
        source="NKI Library, core/embeddings/rope.py: base partition alignment of tensor_tensor",
        breaches=_unaligned,
        before={"beta1": "warning"},
    ),
    Rule(
        code="TRN2-PART-INPUT",
        text="The inputs of other instructions should start at the same partition where they are in SBUF.",
        severity="warning",
        remedy="Copy one of them with nisa.tensor_copy into a tile that starts where the others do.",
        source="Inferred from TRN2-PART-PAIR: no page of AWS says so of these instructions, or the contrary",
        breaches=_several,
    ),
)
