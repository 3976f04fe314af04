"""What of a Beta 1 kernel has to change for the current dialect: each construct with its lines and what replaces it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from nki_anvil.sim.absent import BETA1

_TILES: Final = frozenset(
    {"activation", "activation_reduce", "bn_aggr", "bn_stats", "dma_transpose", "dropout", "local_gather", "max8"}
    | {"nc_find_index8", "nc_match_replace8", "nc_matmul", "nc_transpose", "range_select", "reciprocal"}
    | {"scalar_tensor_tensor", "sequence_bounds", "tensor_copy", "tensor_partition_reduce", "tensor_reduce"}
    | {"tensor_scalar", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan"}
)
"""Instructions that returned a tile and now write to their first argument."""

CALLS: Final[Mapping[str, str]] = {
    **{
        f"nisa.{name}": f"allocate dst with nl.ndarray and call nisa.{name}(dst, ...): it returns no tile"
        for name in sorted(_TILES)
    },
    **{f"nl.{name}": instead for name, instead in BETA1["nki.language"].items()},
    **{f"nki.{name}": instead for name, instead in BETA1["nki"].items()},
    "nl.load": "nl.load(src) without mask= or grids, or nl.ndarray and nisa.dma_copy(dst, src)",
    "nl.store": "nl.store(dst, value) without mask=, or nisa.dma_copy(dst, src)",
    "nl.matmul": "nisa.nc_matmul(dst, stationary, moving), the contraction on the partitions of both",
    "nl.affine_range": "range: iterations run in program order",
    "nl.sequential_range": "range",
    "nl.static_range": "range",
    "nl.ds": "nl.ds(start, size) stays; start is a Python integer",
    "nisa.memset": "nisa.memset(dst, value) into a tile of nl.ndarray",
    "nisa.iota": "nisa.iota(dst, [[step, count], ...], offset, channel_multiplier)",
    "nisa.affine_select": "nisa.affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op)",
    "nl.spmd_dim": "kernel[2] for two cores; other axes of a grid become loops",
    "nl.program_id": "only the core of kernel[2]; other axes of a grid become loops",
}
"""By call, under the usual names of the modules: what the current dialect has in its place."""

KEYWORDS: Final[Mapping[str, str]] = {
    "mask": "clamp the bound with min() and slice all operands alike",
    "lazy_initialization": "leave it out: the first matmul of a region overwrites",
    "loop_indices": "accumulate explicitly: the first iteration copies, the others combine with nisa.tensor_tensor",
    "dst_rmw_op": "nisa.dma_compute(dst, [dst, src], op)",
}
"""By keyword of a call."""


class Change(NamedTuple):
    """One kind of construct, and where it stands."""

    construct: str
    instead: str
    lines: tuple[int, ...]


def changes(text: str) -> list[Change]:
    """What has to be rewritten, in the order of first appearance; empty for a kernel of the current dialect.

    Raises SyntaxError for text that does not parse.
    """
    tree = ast.parse(text)
    aliases = _aliases(tree)
    if not any(module.startswith("neuronxcc") for module in aliases.values()):
        return []
    found: dict[tuple[str, str], set[int]] = {}
    for line, construct, instead in _constructs(tree, aliases):
        found.setdefault((construct, instead), set()).add(line)
    listed = [Change(construct, instead, tuple(sorted(lines))) for (construct, instead), lines in found.items()]
    return sorted(listed, key=lambda change: change.lines[0])


def told(text: str) -> str:
    """``changes`` as a list for a prompt; a sentence where there are none."""
    try:
        listed = changes(text)
    except SyntaxError as error:
        return f"The kernel does not parse (line {error.lineno}): correct that first."
    if not listed:
        return "The kernel imports nothing of `neuronxcc.nki`: it is written in the current dialect."
    return "\n".join(f"- {_places(change.lines)}: `{change.construct}` -> {change.instead}" for change in listed)


def _places(lines: tuple[int, ...]) -> str:
    return ("line " if len(lines) == 1 else "lines ") + ", ".join(map(str, lines))


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Names that stand for a module or one of its members, wherever they are imported."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.asname or one.name.partition(".")[0]: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def _constructs(tree: ast.Module, aliases: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(one.name.startswith("neuronxcc") for one in names):
                yield node.lineno, "import neuronxcc.nki", "import nki, nki.language as nl, nki.isa as nisa"
            case ast.ImportFrom(module=str(module)) if module.startswith("neuronxcc"):
                yield node.lineno, f"from {module} import", f"from {module.removeprefix('neuronxcc.') or 'nki'} import"
            case ast.Call():
                yield from _call(node, aliases)
            case ast.AugAssign(op=ast.Add(), value=ast.Call() as value) if "matmul" in _short(value.func, aliases):
                instead = "repeated nisa.nc_matmul on one dst: the first overwrites, the others add"
                yield node.lineno, "psum += matmul", instead
            case ast.BinOp() | ast.Attribute() | _:
                yield from _reference(node, aliases)


def _call(node: ast.Call, aliases: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    name = _short(node.func, aliases)
    if name in CALLS:
        yield node.lineno, name, CALLS[name]
    for keyword in node.keywords:
        if keyword.arg in KEYWORDS and name.partition(".")[0] in ("nl", "nisa", "nki"):
            yield keyword.value.lineno, f"{keyword.arg}=", KEYWORDS[keyword.arg]
        if keyword.arg == "dtype" and name.startswith("nisa.") and name.removeprefix("nisa.") in _TILES:
            yield keyword.value.lineno, "dtype= of an instruction", "the dtype of dst"
    if name.startswith("nl.") and name.removeprefix("nl.") in ("ndarray", "zeros") and _blocks(node, aliases):
        yield node.lineno, "block dimensions", "a Python list of tiles, or part of the free dimension"


def _blocks(node: ast.Call, aliases: Mapping[str, str]) -> bool:
    """Whether a shape has dimensions before its par_dim."""
    shape = next((k.value for k in node.keywords if k.arg == "shape"), node.args[0] if node.args else None)
    sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
    marks = [i for i, s in enumerate(sizes) if isinstance(s, ast.Call) and _short(s.func, aliases) == "nl.par_dim"]
    return bool(marks and marks[0] > 0)


def _reference(node: ast.AST, aliases: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Names that are not called: ``nl.mgrid``, NumPy's functions as operations."""
    if not isinstance(node, ast.Attribute):
        return
    name = _short(node, aliases)
    if name == "nl.mgrid":
        yield node.lineno, name, CALLS[name]
    elif name.startswith("nki.compiler."):
        yield node.lineno, name, "nl.ndarray(..., address=(partition, byte)), or leave the place to the compiler"


def _short(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """A dotted name under the usual short names: ``nl.load``, ``nisa.nc_matmul``, ``nki.jit``; else empty."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return ""
    full = ".".join([aliases[node.id], *reversed(parts)]).removeprefix("neuronxcc.")
    for module, short in (("nki.language.", "nl."), ("nki.isa.", "nisa.")):
        if full.startswith(module):
            return short + full.removeprefix(module)
    return full
