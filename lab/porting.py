"""What of a Beta 1 kernel has to change for the current dialect: each construct with its lines and what replaces it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

import numpy as np

from nki_anvil.lab.porting_table import CALLS, KEYWORDS, REDUCTIONS, TILES


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
    for line, construct, instead in [*_constructs(tree, aliases), *_operators(tree, aliases)]:
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
            case _:
                yield from _reference(node, aliases)


def _call(node: ast.Call, aliases: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    name = _short(node.func, aliases)
    if name in CALLS:
        yield node.lineno, name, CALLS[name]
    if name.startswith(("nl.", "nisa.")):
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            yield from _operation(value, aliases)
    if name == "nki.jit" and node.keywords:
        yield node.lineno, "options of nki.jit", "@nki.jit alone; the chip is NEURON_PLATFORM_TARGET_OVERRIDE"
    for keyword in node.keywords:
        if keyword.arg and keyword.arg in KEYWORDS and name.partition(".")[0] in ("nl", "nisa", "nki"):
            yield keyword.value.lineno, f"{keyword.arg}=", KEYWORDS[keyword.arg]
        if keyword.arg == "dtype" and name.startswith("nisa.") and name.removeprefix("nisa.") in TILES:
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
    """Names that are not called themselves: ``nl.mgrid``, ``nki.compiler.sbuf.alloc``, NumPy's functions as ``op``."""
    if not isinstance(node, (ast.Attribute, ast.Name)):
        return
    name = _short(node, aliases)
    if name == "nl.mgrid" or (name.startswith("nki.compiler.") and name in CALLS):
        yield node.lineno, name, CALLS[name]


def _operation(value: ast.expr, aliases: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """A NumPy function given as the operation of an instruction: ``op=np.add``."""
    name = _short(value, aliases)
    function = name.removeprefix("numpy.")
    if name != function and (function in REDUCTIONS or isinstance(getattr(np, function, None), np.ufunc)):
        yield value.lineno, f"np.{function}", f"nl.{REDUCTIONS.get(function, function)} as the operation"


_NO_TILES: Final = frozenset(
    {"nl.arange", "nl.ds", "nl.program_id", "nl.num_programs", "nl.par_dim", "nl.affine_range"}
)


def _operators(tree: ast.Module, aliases: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Arithmetic on names that were given a result of ``nl`` or ``nisa``; that what they hold is a tile is likely."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    made = {
        target.id
        for node in assigned
        for target in node.targets
        if isinstance(target, ast.Name) and _makes_tile(cast("ast.Call", node.value), aliases)
    }
    for node in ast.walk(tree):
        if not isinstance(node, (ast.BinOp, ast.UnaryOp)):
            continue
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        if any(_base(side) in made for side in sides):
            yield node.lineno, "operators on tiles", "nl.multiply(a, b) and its like, or nisa.tensor_tensor(dst, ...)"


def _makes_tile(call: ast.Call, aliases: Mapping[str, str]) -> bool:
    name = _short(call.func, aliases)
    return name.startswith(("nl.", "nisa.")) and name not in _NO_TILES


def _base(node: ast.expr) -> str:
    """The name under an index."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


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
