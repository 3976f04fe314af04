"""What an instruction's immediate values look like: one kind of JSON value for every attribute of the table.

The frontends write exactly these, every declared key present, and the schema accepts nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from nki_anvil.sim import operations
from nki_anvil.sim.instructions import ENGINES

Kind: TypeAlias = Callable[[Any], bool]

MAX_LIST: Final = 64
MAX_TEXT: Final = 1000
INT_LIMIT: Final = 1 << 40


def integer(value: Any) -> bool:
    """A JSON integer (never a boolean) that no address can overflow."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT_LIMIT


def number(value: Any) -> bool:
    """A JSON number; infinities and NaN are allowed."""
    return integer(value) or isinstance(value, float)


def boolean(value: Any) -> bool:
    return isinstance(value, bool)


def text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT


def one_of(*names: str) -> Kind:
    """One of some names."""
    return lambda value: isinstance(value, str) and value in names


def optional(kind: Kind) -> Kind:
    """The kind, or null."""
    return lambda value: value is None or kind(value)


def _items(value: Any) -> list[Any] | None:
    """A short JSON list, else None."""
    return cast("list[Any]", value) if isinstance(value, list) and len(cast("list[Any]", value)) <= MAX_LIST else None


def list_of(kind: Kind) -> Kind:
    """A short JSON list of one kind."""

    def accepts(value: Any) -> bool:
        items = _items(value)
        return items is not None and all(kind(item) for item in items)

    return accepts


def _pair(value: Any) -> bool:
    items = _items(value)
    return items is not None and len(items) == 2 and all(integer(item) for item in items) and items[1] > 0


_alu = one_of(*operations.ALU)
_compare = one_of(*operations.COMPARISONS)
_activation = one_of(*operations.ACTIVATIONS)
_reduce = one_of(*operations.REDUCTIONS)
_command = one_of("idle", "reset", "reduce", "reset_reduce", "load_reduce")
_scalar = optional(number)

RESETS: Final = ("reset", "reset_reduce", "load_reduce")
"""Commands to an engine's accumulators that ask nothing of what they held."""
KINDS: Final[Mapping[str, Kind]] = {
    "oob_mode": one_of("error", "skip"),
    "dge_mode": one_of("unknown", "swdge", "hwdge", "none"),
    "trigger": optional(one_of("unknown", *ENGINES)),
    "axes": optional(list_of(integer)),
    "reduce_op": optional(_reduce),
    "scales": optional(list_of(number)),
    "unique_indices": boolean,
    "src_value": _scalar,
    "reverse_pred": boolean,
    "value": lambda value: isinstance(value, bool) or _scalar(value),
    "shuffle_mask": list_of(integer),
    "num_elem_per_idx": integer,
    "num_valid_indices": optional(integer),
    "send_to_rank": integer,
    "recv_from_rank": integer,
    "pipe_id": integer,
    "dma_engine": one_of("dma", "gpsimd_dma"),
    "cores": list_of(integer),
    "is_stationary_onezero": boolean,
    "is_moving_onezero": boolean,
    "is_transpose": boolean,
    "accumulate": optional(boolean),
    "inferred": optional(boolean),
    "tile_position": optional(list_of(integer)),
    "tile_size": optional(list_of(integer)),
    "perf_mode": one_of("none", "double_row"),
    "op": _alu,
    "op0": optional(_alu),
    "op1": optional(_alu),
    "value0": _scalar,
    "value1": _scalar,
    "reverse0": boolean,
    "reverse1": boolean,
    "bias_value": _scalar,
    "scale_value": _scalar,
    "reduce_cmd": _command,
    "on_false_value": _scalar,
    "comp_op0": _compare,
    "comp_op1": _compare,
    "cmp_op": _compare,
    "range_start": integer,
    "pattern": list_of(_pair),
    "channel_multiplier": integer,
    "offset": integer,
    "prob_value": _scalar,
    "negate": boolean,
    "keepdims": boolean,
    "reduce_init_value": _scalar,
    "reduce_res_negate": boolean,
    "initial_value": _scalar,
    "imm": number,
    "n": integer,
    "snake": boolean,
    "marked": boolean,
    "descending": boolean,
    "index_offset": integer,
    "padding_val": integer,
    "register": integer,
    "source": optional(integer),
    "other": optional(integer),
    "prefix": text,
}
"""The kind of each attribute by name."""

OVERRIDES: Final[Mapping[tuple[str, str], Kind]] = {
    ("activation", "op"): _activation,
    ("activation_reduce", "op"): _activation,
    ("tensor_reduce", "op"): _reduce,
    ("tensor_reduce", "axes"): list_of(integer),
    ("tensor_partition_reduce", "op"): _reduce,
    ("register_move", "value"): optional(integer),
    ("register_compute", "op"): one_of("add", "subtract", "multiply"),
    ("register_compute", "source"): integer,
    ("register_compute", "value"): optional(integer),
}
"""Where an instruction means something narrower by the same name."""


def kind_of(instruction: str, attribute: str) -> Kind:
    """The predicate that an attribute's value has to satisfy."""
    return OVERRIDES.get((instruction, attribute)) or KINDS[attribute]
