"""A reference module, read with its dimensions set: what it offers, and how its functions are called.

It runs only in the reference's own process; whatever the module does wrong becomes a ReferenceFault with a sentence.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import random
import sys
import traceback
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import decode_source
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np

from nki_anvil.lab import gradients, numbers, own_modules
from nki_anvil.lab.arithmetic import Arithmetic, computing, is_array
from nki_anvil.lab.lesser import Lesser, lessers
from nki_anvil.lab.values import value
from nki_anvil.sim.parsing import parsed

Array = np.ndarray[Any, Any]


class ReferenceFault(Exception):
    """The reference cannot be used; the message is a sentence for its author."""


class ReferenceModule:
    """The module's functions. ``forward`` computes in whatever arithmetic is asked for."""

    def __init__(self, path: Path, dims: Mapping[str, int], digest: str = "") -> None:
        self.path = path
        tree = _parsed(path, digest)
        self.constants = _constants(tree)
        self._compared = [side for node in ast.walk(tree) if isinstance(node, ast.Compare) for side in _sides(node)]
        self._has_while = any(isinstance(node, ast.While) for node in ast.walk(tree))
        self._tree = _with_dimensions(tree, dims)
        self._plain = _executed(_with_dimensions(tree, dims), path)
        _refuse_other_dimensions(self._plain, dims, path)
        self._bent = _executed(_with_dimensions(tree, dims), path)
        numbers.bend(self._bent)
        for name in ("get_inputs", "forward"):
            if not callable(self._plain.get(name)):
                raise ReferenceFault(f"{path.name} defines no function `{name}`.")

    @property
    def names(self) -> list[str]:
        """forward's parameters that are given by position."""
        parameters = inspect.signature(self._plain["forward"]).parameters.values()
        return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    @property
    def compared(self) -> set[float]:
        """Numbers with which its text compares anything, a loop's single numbers too: no run of it tells these."""
        values: list[Any] = [self._plain.get(side) if isinstance(side, str) else side for side in self._compared]
        return {float(value) for value in values if isinstance(value, float) or type(value) is np.float32}

    @property
    def may_go_on(self) -> bool:
        """Whether it, or a helper, may have a loop that ends by what it computes, and on other numbers never."""
        return self._has_while or bool(own_modules.loaded())

    @cached_property
    def lessers(self) -> list[Lesser]:
        """It without one thing, each another."""
        return lessers(self._tree, self._plain)

    def without(self, lesser: Lesser) -> Callable[[Sequence[Any]], list[Array]]:
        """``plain`` of such a one. Raises ReferenceFault where it cannot even be read."""
        held = _executed_aside(lesser.tree, self.path)

        def plain(arguments: Sequence[Any]) -> list[Array]:
            with _blamed(self.path, "forward"), np.errstate(all="ignore"):
                return _outputs(held["forward"](*arguments))

        return plain

    @cached_property
    def differentiable(self) -> Callable[..., Any]:
        """``forward`` as gradients go through it. Raises ReferenceFault where it cannot be read a second time."""
        return gradients.differentiable(_executed_aside(self._tree, self.path))["forward"]

    @property
    def held(self) -> Mapping[str, Any]:
        """What its names hold."""
        return self._plain

    def function(self, name: str) -> Callable[..., Any] | None:
        found = self._plain.get(name)
        return found if callable(found) else None

    def chooses(self, name: str) -> bool:
        """Whether a function of its top level decides by something else than what kind of object it is given."""
        functions = (one for one in self._tree.body if isinstance(one, ast.FunctionDef) and one.name == name)
        nodes = [node for function in functions for node in ast.walk(function)]
        tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.IfExp, ast.While))]
        return any(isinstance(node, (ast.Match, ast.Try)) for node in nodes) or not all(map(_asks_for_a_kind, tests))

    def get_inputs(self, seed: int) -> list[Any]:
        """One own draw: NumPy arrays and Python scalars, from the seeded global generators."""
        np.random.seed(seed % 2**32)
        random.seed(seed)
        with _blamed(self.path, "get_inputs"):
            drawn: Any = self._plain["get_inputs"]()
        if not _is_sequence(drawn) or not drawn:
            raise ReferenceFault(f"get_inputs must return a list of arrays and numbers; it returned {_kind(drawn)}.")
        return [_argument(item, position) for position, item in enumerate(drawn)]

    def plain(self, arguments: Sequence[Any]) -> list[Array]:
        """The outputs as the author's own call would give them."""
        with _blamed(self.path, "forward"), np.errstate(all="ignore"):
            return _outputs(self._plain["forward"](*arguments))

    def forward(self, arguments: Sequence[Any], how: Arithmetic) -> list[Array]:
        """The outputs in another arithmetic."""
        with _blamed(self.path, "forward"), computing(how):
            for helper in own_modules.loaded():
                numbers.bend(vars(helper))
            given = [value(argument, how) for argument in arguments]
            return _outputs(self._bent["forward"](*given))


def _asks_for_a_kind(test: ast.expr) -> bool:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _asks_for_a_kind(operand)
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr")) | ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
        case _:
            return False


def _parsed(path: Path, digest: str) -> ast.Module:
    try:
        content = path.read_bytes()
        if digest and hashlib.sha256(content).hexdigest() != digest:
            raise ReferenceFault(
                f"{path.name} changed while it was in use: it is not the one that the problem rests on."
            )
        return parsed(decode_source(content), str(path))
    except SyntaxError as error:
        raise ReferenceFault(f"{path.name} does not parse: {error.msg}, line {error.lineno}.") from error
    except (OSError, ValueError) as error:
        raise ReferenceFault(f"{path.name} cannot be read: {error}.") from error


def _constants(tree: ast.Module) -> dict[str, int]:
    """The whole numbers that the module names at its top level: the dimensions of a bare module."""
    found: dict[str, int] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() as number)) if (
                number is not True
            ):
                found[name] = number
            case _:
                pass
    return {name: number for name, number in found.items() if not isinstance(number, bool)}


def _sides(comparison: ast.Compare) -> list[Any]:
    """What is compared, as far as it is a number as it is written, or a name of the whole text."""
    found: list[Any] = []
    for side in (comparison.left, *comparison.comparators):
        match side:
            case ast.Constant(value=number):
                found.append(number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as number)):
                found.append(-number)
            case ast.Name(id=name):
                found.append(name)
            case _:
                pass
    return found


def _with_dimensions(tree: ast.Module, dims: Mapping[str, int]) -> ast.Module:
    """The tree with top-level assignments to dimensions replaced, so that what is derived from them follows."""
    body = [one for statement in tree.body for one in _with_numbers(statement, dims)]
    return ast.fix_missing_locations(ast.Module(body, tree.type_ignores))


def _is_bound(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _with_numbers(statement: ast.stmt, dims: Mapping[str, int]) -> Iterator[ast.stmt]:
    """An assignment, and behind it one to each dimension that it binds by name, alone or among others."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            bound, kept = [name], [statement] if name not in dims else []
        case ast.Assign(targets=targets):
            bound = [node.id for target in targets for node in ast.walk(target) if _is_bound(node)]
            kept = [statement]
        case _:
            bound, kept = [], [statement]
    yield from kept
    for name in dict.fromkeys(bound):
        if name in dims:
            target = ast.Name(name, ast.Store())
            yield ast.copy_location(ast.Assign([target], ast.Constant(dims[name])), statement)


def _refuse_other_dimensions(names: Mapping[str, Any], dims: Mapping[str, int], path: Path) -> None:
    """Where a name that problem.toml gives a length is bound by an import, or anew, shapes would not follow."""
    for name, length in dims.items():
        if isinstance(found := names.get(name), int) and found != length:
            raise ReferenceFault(
                f"{path.name} has {name} = {found} where problem.toml says {length}: assign it at its top level by its "
                f"name ({name} = {length}), and nowhere else, for other shapes to follow."
            )


def _executed(tree: ast.Module, path: Path) -> dict[str, Any]:
    module = types.ModuleType("reference")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses look for what annotations mean
    with _blamed(path, "importing it"):
        exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    return module.__dict__


def _executed_aside(tree: ast.Module, path: Path) -> dict[str, Any]:
    """The same, while the module by which the reference is known stays."""
    standing = sys.modules.get("reference")
    try:
        return _executed(tree, path)
    finally:
        if standing is not None:
            sys.modules["reference"] = standing


@contextmanager
def _blamed(path: Path, doing: str) -> Generator[None]:
    """Whatever the author's code raises, SystemExit too, becomes one sentence with its line."""
    try:
        yield
    except ReferenceFault:
        raise
    except BaseException as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        where = f" at line {lines[-1]}" if lines else ""
        what = f"called exit ({error})" if isinstance(error, SystemExit) else f"raised {type(error).__name__}: {error}"
        raise ReferenceFault(f"{path.name}: {doing} {what}{where}.") from error


def _is_sequence(item: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(item, (tuple, list))


def _argument(item: Any, position: int) -> Any:
    if isinstance(item, float):
        return float(item)
    if isinstance(item, (bool, int)):
        return item
    if isinstance(item, np.generic):
        return cast("Any", item).item()
    if not is_array(item) and hasattr(item, "detach"):
        item = item.detach().cpu().numpy()
    if is_array(item) and item.dtype.kind in "fiubV" and item.size:
        return item
    raise ReferenceFault(f"get_inputs: argument {position} is {_kind(item)}; it must be a numeric array or a number.")


def _outputs(result: Any) -> list[Array]:
    parts: list[Any] = [*result] if _is_sequence(result) else [result]
    if not parts:
        raise ReferenceFault("forward returned an empty tuple; it must return an array or a tuple of arrays.")
    return [_output(part) for part in parts]


def _output(part: Any) -> Array:
    if not is_array(part) and hasattr(part, "detach"):
        part = part.detach().cpu().numpy()
    if isinstance(part, (np.ndarray, np.generic, int, float)):
        array = np.asarray(part).view(np.ndarray)
        if array.dtype.kind in "fiubV":
            return array
    raise ReferenceFault(f"forward returned {_kind(part)}; it must return an array or a tuple of arrays.")


def _kind(item: Any) -> str:
    if is_array(item):
        return f"an array of {item.dtype.name} with shape {item.shape}"
    return "None" if item is None else f"a {type(item).__name__}"
