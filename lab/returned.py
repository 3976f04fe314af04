"""What a kernel has returned, given to it again as the next of several layers is: a case that no family can hold.

Its last bits are the kernel's own, and may tell it what only it has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.backends.job import Case, InputSpec
from nki_anvil.backends.worker.inputs import RETURNED
from nki_anvil.lab.cases import Pool, Pooled
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.specification import Specification

MOST: Final = 4
"""Of an own draw at each shape set."""

Given = tuple[Case, dict[str, NDArray[Any]]]


async def cases(specification: Specification, observed: Sequence[Observed], pool: Pool) -> list[Pooled]:
    """At each shape set an own draw once more, in which an output stands for an input of its kind, each for each.

    None where a transform of the reference's alone makes the kernel's inputs.
    """
    found: list[Pooled] = []
    for shapes in specification.verify:
        own = next((one for one in observed if one.case.shapes == shapes and one.own and not one.case.probes), None)
        if own is None or (specification.transforms and not drawn(specification, shapes)):
            continue
        arrays = await pool.arrays(Pooled(case=own.case, inputs_digest=own.result.inputs_digest))
        given = list(_given(specification.shape_sets[shapes].inputs, own, arrays))[:MOST]
        if given:
            found += await pool.given([case for case, _ in given], [held for _, held in given])
    return found


def drawn(specification: Specification, shapes: str) -> bool:
    """Whether inputs are reshaped alone, so that the reference's may be told from the kernel's."""
    return any(spec.drawn for spec in specification.shape_sets[shapes].inputs)


def _given(inputs: Sequence[InputSpec], own: Observed, arrays: dict[str, NDArray[Any]]) -> Iterator[Given]:
    pairs = [(output, spec) for output in own.result.outputs for spec in inputs if spec.name in arrays]
    for number, (output, spec) in enumerate(pairs):
        if _takes(spec, arrays[spec.name], output):
            key, shapes = f"{own.case.key}r{number}", own.case.shapes
            case = Case(key=key, shapes=shapes, seed=own.case.seed, family=RETURNED, only=spec.name)
            yield case, {**arrays, spec.name: output}


def _takes(spec: InputSpec, like: NDArray[Any], output: NDArray[Any]) -> bool:
    """Whether an output may be an input: of its shape and dtype, with nothing to keep, of another content."""
    unbound = spec.domain == "real" and spec.low is None and spec.high is None and spec.order is None
    alike = like.shape == output.shape and like.dtype == output.dtype
    return unbound and alike and "float" in spec.dtype and not np.array_equal(like, output)
