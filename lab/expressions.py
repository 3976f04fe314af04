"""Arithmetic over a problem's dimensions, as ``problem.toml`` writes it: ``4*(2*M*N + N)``, and nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from nki_anvil.sim.parsing import parsed_expression

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"min": min, "max": max, "ceil": math.ceil, "log2": math.log2}


def evaluate(expression: str | float, names: Mapping[str, float]) -> float:
    """The value of an arithmetic expression; raises ValueError with one sentence that names what is wrong."""
    if not isinstance(expression, str):
        return expression
    try:
        tree = parsed_expression(expression)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{expression!r} is not an arithmetic expression.") from None
    try:
        return _value(tree.body, names)
    except (ZeroDivisionError, OverflowError, TypeError) as error:
        raise ValueError(f"{expression!r} cannot be evaluated: {error}.") from None


def integer(expression: str | int, names: Mapping[str, float]) -> int:
    """The same, which must come out as a whole number of at least 1: a dimension."""
    value = evaluate(expression, names)
    if value != int(value) or value < 1:
        raise ValueError(f"{expression!r} is {value}, but a dimension is a whole number of at least 1.")
    return int(value)


def _value(node: ast.expr, names: Mapping[str, float]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name not in names:
                raise ValueError(f"{name!r} is no dimension; declared are: {', '.join(names) or 'none'}.")
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, names), _value(right, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*[_value(arg, names) for arg in args])
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not arithmetic over dimensions.")


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > 64:
        raise ValueError(f"The exponent {exponent} is too large.")
    return base**exponent
