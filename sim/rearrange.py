"""Views by name, as in einops: split the source's groups, order the names, merge the destination's groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nki_anvil.sim.errors import TraceError

if TYPE_CHECKING:
    from nki_anvil.sim.tensor import NkiTensor


def rearrange(tensor: NkiTensor, source: Sequence[Any], target: Sequence[Any], sizes: Mapping[str, int]) -> NkiTensor:
    """The view that the two patterns describe. Raises TraceError for patterns that do not fit."""
    groups, wanted = [_group(item) for item in source], [_group(item) for item in target]
    names, order = [name for group in groups for name in group], [name for group in wanted for name in group]
    if len(groups) != tensor.ndim or sorted(names) != sorted(order) or len(set(names)) != len(names):
        raise TraceError(
            "NKI-RANK",
            f"{tuple(source)} -> {tuple(target)} does not fit {tensor.shape}.",
            remedy="Name each dimension once.",
        )
    for axis in range(len(groups) - 1, -1, -1):
        if len(groups[axis]) > 1:
            tensor = tensor.reshape_dim(axis, _sizes(groups[axis], tensor.shape[axis], sizes))
    tensor = tensor.permute([names.index(name) for name in order])
    for axis, group in enumerate(wanted):
        tensor = tensor.flatten_dims(axis, axis + len(group) - 1) if group else tensor.expand_dim(axis)
    return tensor


def _group(item: Any) -> tuple[str, ...]:
    return (item,) if isinstance(item, str) else tuple(item)


def _sizes(group: tuple[str, ...], total: int, sizes: Mapping[str, int]) -> list[int]:
    known = [sizes.get(name, -1) for name in group]
    if known.count(-1) > 1 or total % math.prod(size for size in known if size != -1):
        raise TraceError(
            "NKI-SHAPE", f"{total} does not split into {group} with {dict(sizes)}.", remedy="Give fixed_sizes."
        )
    return known
