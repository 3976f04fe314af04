"""Mean and variance: statistics of even and odd elements, and their aggregation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.bench import Bench
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site

Array = NDArray[Any]


@defines("bn_stats")
def bn_stats(site: Site) -> None:
    """dst[6] = count, mean and variance * count of the even elements, then of the odd ones."""
    data = site.rows("data")
    if site.operand("dst").size != 6 * data.shape[0]:
        raise site.fault("SIM-SHAPE", f"bn_stats writes 6 values per partition, not {site.operand('dst').shape}")
    site.do(_stats, site.bench, data, site.target("dst", (data.shape[0], 6)))


def _stats(bench: Bench, data: Array, out: Array) -> None:
    """What the mean and the variance of no element are, no page says."""
    result = np.full((data.shape[0], 6), np.nan if bench.lots.other("statistics") else 0, data.dtype)
    result[:, ::3] = 0
    for parity in (0, 1):
        part = data[:, parity::2]
        if part.shape[1]:
            mean = part.mean(axis=1, dtype=data.dtype)
            square = np.square(part - mean[:, None]).sum(axis=1, dtype=data.dtype)
            result[:, 3 * parity : 3 * parity + 3] = np.stack([np.full_like(mean, part.shape[1]), mean, square], axis=1)
    out[...] = result


@defines("bn_aggr")
def bn_aggr(site: Site) -> None:
    """dst[2] = mean and variance of what (count, mean, variance * count) triples describe."""
    data = site.rows("data")
    if data.shape[1] % 3 or site.operand("dst").size != 2 * data.shape[0]:
        raise site.fault("SIM-SHAPE", f"bn_aggr of {data.shape} into {site.operand('dst').shape}")
    site.do(_aggregate, data, site.target("dst", (data.shape[0], 2)))


def _aggregate(data: Array, out: Array) -> None:
    count, mean, square = (data[:, i::3].copy() for i in range(3))
    mean[count == 0] = square[count == 0] = 0  # of no element nobody asks what they are
    total = count.sum(axis=1)
    center = (count * mean).sum(axis=1) / total
    spread = (square + count * np.square(mean - center[:, None])).sum(axis=1) / total
    out[...] = np.stack([center, spread], axis=1)
