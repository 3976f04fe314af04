"""The score of an end-to-end problem, as tools show it."""

from __future__ import annotations

import math
from typing import Self

from pydantic import BaseModel

from nki_anvil.lab.figures import Score
from nki_anvil.tools.wording import interval, times


class ContestScore(BaseModel):
    """Accuracy x reduced latency x increased throughput x (1 + share of NKI's FLOPs); its ratio decides."""

    score: float
    accuracy: float
    reduced_latency: float
    increased_throughput: float
    nki_flops_share: float
    ratio: float
    ratio_low: float
    ratio_high: float | None

    @classmethod
    def of(cls, score: Score | None) -> Self | None:
        """An interval without an upper end has None there: JSON has no infinity."""
        if score is None:
            return None
        high = score.ratio_high if math.isfinite(score.ratio_high) else None
        return cls.model_validate({**score.model_dump(), "ratio_high": high})


def scored(score: Score | None, reference: str) -> str:
    """A clause on the score, or nothing."""
    if score is None:
        return ""
    ratio = f"{times(score.ratio)}{interval(score.ratio_low, score.ratio_high)}"
    return f", score {score.score:.4g} with {reference} as the reference ({ratio}, which decides)"
