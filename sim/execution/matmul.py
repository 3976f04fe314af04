"""The tensor engine: products and transposes, inputs rounded as it reads them, sums in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.execution.conversion import shorten
from nki_anvil.sim.execution.registry import defines
from nki_anvil.sim.execution.site import Site

Array = NDArray[Any]


@defines("nc_matmul")
def nc_matmul(site: Site) -> None:
    """dst[M, N] = stationary[K, M].T @ moving[K, N], overwriting, adding, or adding only where dst was written."""
    stationary, moving = _factor(site, "stationary"), _factor(site, "moving")
    target = site.operand("dst")
    shape = (stationary.shape[1], moving.shape[1])
    if stationary.shape[0] != moving.shape[0] or target.shape[0] != shape[0] or target.size != shape[0] * shape[1]:
        found = f"stationary {site.operand('stationary').shape}, moving {site.operand('moving').shape}"
        raise site.fault("SIM-SHAPE", f"nc_matmul of {found} into {target.shape}")
    accumulate = _accumulates(site)
    if site["is_transpose"] and accumulate is not False:
        site.do(_overwrites, site, accumulate)
    out = site.target("dst", shape, keep=accumulate is not False)
    if accumulate is False:
        _multiply(site, stationary, moving, out)
        return
    product = site.work(shape)
    _multiply(site, stationary, moving, product)
    if accumulate is True:
        site.do(np.add, out, product, out)
    else:
        site.do(_add_where, out, product, np.asarray(accumulate).reshape(shape))


def _accumulates(site: Site) -> Any:
    chosen = site["accumulate"]
    return site.written.found(site.index) if chosen is None else chosen


def _overwrites(site: Site, written: Any) -> None:
    """In transpose mode the array passes data on and sums nothing."""
    if np.any(written):
        raise site.fault("TRN2-MM-MOVE", "nc_matmul with is_transpose adds to what an earlier matmul has written")


def _add_where(out: Array, product: Array, written: Array) -> None:
    np.copyto(out, 0, where=~written)
    np.add(out, product, out=out)


def _factor(site: Site, slot: str) -> NDArray[np.float32]:
    """An operand as (contraction, columns); two-row packing contracts over its first free dimension as well."""
    operand = site.operand(slot)
    rows = operand.shape[0]
    if site["perf_mode"] == "double_row":
        if len(operand.shape) < 3 or operand.shape[1] != 2:
            raise site.fault("SIM-SHAPE", f"double_row needs {slot} of [K, 2, columns], not {operand.shape}")
        rows *= 2
    values = site.read(slot, (rows, operand.size // rows))
    if site[f"is_{slot}_onezero"] and operand.dtype == "float32":  # of other formats it says nothing
        site.do(_keep_promise, site, slot, values)
    if not site.formats.shortens(operand.dtype):
        return values
    rounded = site.work(values.shape)
    site.do(shorten, values, rounded)
    return rounded


def _keep_promise(site: Site, slot: str, values: Array) -> None:
    """The tensor engine is faster with an operand of zeros and ones, and wrong with any other."""
    if not ((values == 0) | (values == 1)).all():
        raise site.fault(
            "SIM-ONEZERO", f"nc_matmul is told that {slot} holds zeros and ones alone, and it holds others"
        )


def _multiply(site: Site, stationary: Array, moving: Array, out: Array) -> None:
    if site["is_transpose"]:
        site.do(_transpose, site, stationary, moving, out)
    else:
        site.do(np.matmul, stationary.T, moving, out)


def _transpose(site: Site, stationary: Array, moving: Array, out: Array) -> None:
    """Bit-exact where one factor is the identity, so that NaN and infinity pass as they are.

    In this mode the array passes data on and computes no sums: one factor has to select.
    """
    if is_identity(moving):
        np.copyto(out, stationary.T)
    elif is_identity(stationary):
        np.copyto(out, moving)
    elif selects(moving) or selects(stationary):
        np.matmul(stationary.T, moving, out=out)
    else:
        raise site.fault("SIM-TRANSPOSE", "nc_matmul with is_transpose moves data: one operand must be the identity")


def selects(values: Array) -> bool:
    """Whether a matrix takes at most one element for each result: zeros and ones, at most one per column."""
    return bool(((values == 0) | (values == 1)).all() and (values.sum(axis=0) <= 1).all())


def is_identity(values: Array) -> bool:
    """Whether a matrix is square with ones on its diagonal and zeros elsewhere."""
    rows, columns = values.shape
    return rows == columns and bool((values == np.eye(rows, dtype=values.dtype)).all())


@defines("nc_transpose")
def nc_transpose(site: Site) -> None:
    """dst[F, P] = data[P, F], all free dimensions of data as one; no arithmetic."""
    data, target = site.operand("data"), site.operand("dst")
    shape = (data.size // data.shape[0], data.shape[0])
    if target.size != data.size or target.shape[0] != shape[0]:
        raise site.fault("SIM-SHAPE", f"nc_transpose of {data.shape} into {target.shape}")
    values = site.raw("data", (shape[1], shape[0])).T
    site.cast(values, data.dtype, "dst")
