"""Gate 7: same inputs, same bits."""

from __future__ import annotations

import numpy as np

from nki_anvil.lab.evidence import Evidence, Judgement, Repeat


def judge(evidence: Evidence) -> Judgement:
    if evidence.specification.stochastic:
        return Judgement(None, "Not applicable: the problem is declared stochastic.")
    if not evidence.again:
        return Judgement(False, "The backend ran no case twice.")
    if not all(map(_same, evidence.again)):
        hint = "Initialise accumulators and random number generators, and keep engines from racing."
        return Judgement(False, "The same inputs gave different outputs.", hint=hint)
    return Judgement(True, "Same inputs, same bits.")


def _same(repeat: Repeat) -> bool:
    first, second = repeat.first.outputs, repeat.second.outputs
    if repeat.second.error is not None or len(first) != len(second) or not first:
        return False
    pairs = zip(first, second, strict=True)
    return all(a.shape == b.shape and np.array_equal(a.view(np.uint8), b.view(np.uint8)) for a, b in pairs)
