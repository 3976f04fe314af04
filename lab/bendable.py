"""Which families that hang on what a reference computes (``bending``) it has any cases of."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from nki_anvil.backends.worker.inputs import (
    AGAINST,
    ALTERED,
    DOMINO,
    EVEN,
    LESSER,
    RECALLED,
    RESIDUE,
    SUMMIT,
    TALL,
    TOGETHER,
    TRAINED,
    VANISHING,
    VERGE,
)
from nki_anvil.lab import (
    aiming,
    altered,
    astride,
    dominoes,
    gradients,
    lesser_references,
    recalled,
    summits,
    trained,
    vanishing,
    verges,
)
from nki_anvil.lab.arithmetic import Arithmetic, is_array
from nki_anvil.lab.bending import Inputs
from nki_anvil.lab.honest_runs import is_float
from nki_anvil.lab.measuring import Measuring
from nki_anvil.lab.meeting import Factor
from nki_anvil.lab.reference_module import ReferenceFault

TWICE: Final = 2
"""Cases of what each sum leaves little of."""
SUMS: Final = 2
"""Cases in which all that inputs are added to nearly cancels at once."""


def families(measuring: Measuring, work: Arithmetic, drawn: Inputs, other: Inputs) -> dict[str, list[str]]:
    """By input those of what it meets, and under no name those of all inputs together."""
    beside = _astride(measuring, drawn) if work.compared else []
    met = _met(measuring, drawn)
    together = [f"{AGAINST}/{TOGETHER}"] * SUMS if _several_sums(met) else []
    recalls = [f"{RECALLED}/{way}" for way in recalled.cases(measuring.bending.held(drawn, other), drawn)]
    searched = [*_searched(measuring, work, drawn, other), *_verges(measuring, drawn, other)]
    searched += [*_vanishing(measuring, drawn, other), *_emptying(measuring, drawn, other)]
    searched += [*_trained(measuring, work, drawn), *_summits(measuring, drawn, other)]
    return {**met, "": [*searched, *beside, *together, *recalls, *_lessers(measuring, drawn, other)]}


def _met(measuring: Measuring, drawn: Inputs) -> dict[str, list[str]]:
    """By input of floats the families for what its elements meet."""
    found: dict[str, list[str]] = {}
    factors: dict[str, Sequence[Factor]] = {}
    for position, (name, item) in enumerate(drawn.items()):
        if is_float(item) and item.size > 1:
            try:
                met = measuring.runs.meeting(list(drawn.values()), position)
            except ReferenceFault:  # other draws of it are not what the reference takes
                continue
            against = [
                f"{AGAINST}/{turn}{how}"
                for turn in range(len(met.opposites))
                for how in ("", "/throughout", "/nearer", f"/{TALL}")
            ]
            residues = measuring.bending.residues(drawn, name)
            against += [f"{RESIDUE}/{number}" for number in range(len(residues)) for _ in range(TWICE)]
            found[name] = against if met.factor is None else [*against, EVEN]
            factors[name] = met.products
    for name, kinds in aiming.families(measuring.runs, drawn, factors).items():
        found[name] += kinds
    return found


def _astride(measuring: Measuring, drawn: Inputs) -> list[str]:
    """By how large inputs are, or else by how many of their elements are others."""
    found = astride.families(*measuring.bending.scales(drawn))
    mixed = (astride.families(*measuring.bending.mixes(drawn, how, 0), how) for how in (() if found else astride.MIXES))
    return found + [family for families in mixed for family in families]


def _lessers(measuring: Measuring, drawn: Inputs, other: Inputs) -> list[str]:
    """Families of what tells the reference from it without one thing, where a few draws do not."""
    alike = measuring.lessers.alike([drawn, other])
    if alike and not all(is_float(item) for item in drawn.values() if is_array(item)):
        with contextlib.suppress(ReferenceFault):
            marks, random = measuring.bending.marks(), np.random.default_rng(0)
            nearly = altered.altered(measuring.bending.searching(), drawn, other, marks, random)
            alike = measuring.lessers.alike([nearly], alike)
    return [f"{LESSER}/{number}" for number in alike[: lesser_references.CASES]]


def _verges(measuring: Measuring, drawn: Inputs, other: Inputs) -> list[str]:
    """Families of rows near to where the reference has no numbers."""
    try:
        found = verges.ways(measuring.bending.searching(), drawn, other)
    except ReferenceFault:  # its author's own call takes no such formats
        found = []
    return [f"{VERGE}/{way}/{turn}" for way in found for turn in range(verges.TWICE)]


def _vanishing(measuring: Measuring, drawn: Inputs, other: Inputs) -> list[str]:
    """Families of inputs from which little of a result is left."""
    with contextlib.suppress(ReferenceFault):
        if vanishing.comes_to_nothing(measuring.bending.descending(), drawn, other):
            return [f"{VANISHING}/{turn}" for turn in range(vanishing.CASES)]
    return []


def _trained(measuring: Measuring, work: Arithmetic, drawn: Inputs) -> list[str]:
    """Families of all floats together, along whose gradients little is left of outputs."""
    floats = measuring.bending.floats(drawn)
    if len(floats) < 2 and not (floats and work.matmul_flops):  # rows of a lone one descend by themselves
        return []
    with contextlib.suppress(ReferenceFault, gradients.NoGradient):
        return [f"{TRAINED}/{turn}" for turn in trained.turns(measuring.bending.slope(drawn), floats)]
    return []


def _summits(measuring: Measuring, drawn: Inputs, other: Inputs) -> list[str]:
    """Families of inputs on which outputs are as large as they become."""
    with contextlib.suppress(ReferenceFault):
        return [f"{SUMMIT}/{turn}" for turn in range(summits.cases(measuring.bending.searching(), drawn, other))]
    return []


def _emptying(measuring: Measuring, drawn: Inputs, other: Inputs) -> list[str]:
    """Families of inputs of which a sum of several numbers leaves nothing as a whole."""
    with contextlib.suppress(ReferenceFault):
        found = measuring.bending.emptied(drawn, other)
        return [f"{RESIDUE}/{TOGETHER}/{number}" for number in found for _ in range(TWICE)]
    return []


def _several_sums(met: dict[str, list[str]]) -> bool:
    """Whether several inputs are terms of sums, which may be several as well: all of them cancel in the same rows."""
    return sum(any(kind.startswith(f"{AGAINST}/") for kind in kinds) for kinds in met.values()) > 1


def _searched(measuring: Measuring, work: Arithmetic, drawn: Inputs, other: Inputs) -> list[str]:
    """Families of inputs that are searched, or altered in one place, where the reference chooses."""
    chooses = work.decides or not all(is_float(item) for item in drawn.values() if is_array(item))
    if not chooses:
        return []
    reference = measuring.bending.searching()
    found = dominoes.cases(reference, drawn, other, np.random.default_rng(0))
    try:
        nearly = altered.cases(reference, drawn, other)
    except ReferenceFault:  # its author's own call takes no such formats
        nearly = 0
    return [f"{DOMINO}/{turn}" for turn in range(found)] + [f"{ALTERED}/{turn}" for turn in range(nearly)]
