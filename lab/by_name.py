"""Whether a kernel is the same one by place, as traces give it tensors, and by name, as users may."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

Message = tuple[int, str]


def complaints(statements: Iterable[ast.stmt], entry: str, inputs: Sequence[str]) -> Iterator[Message]:
    """Line and sentence of every kernel among ``statements`` that takes other tensors when it is called by name.

    ``inputs`` are the problem's, in order; a kernel may call them otherwise.
    """
    functions = [one for one in statements if isinstance(one, ast.FunctionDef)]
    wrapped = {part.id for one in statements if not isinstance(one, ast.FunctionDef) for part in _names(one)}
    for one in functions:
        if one.decorator_list or one.name == entry or one.name in wrapped:
            if one.args.kwarg or (one.args.vararg and one.args.kwonlyargs):
                yield one.lineno, f"`{one.name}` takes tensors by any name. Name every parameter."
            yield from _misplaced(one, inputs)


def _misplaced(function: ast.FunctionDef, inputs: Sequence[str]) -> Iterator[Message]:
    given = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    for argument in function.args.kwonlyargs:
        if argument.arg in inputs:
            yield (
                function.lineno,
                f"`{argument.arg}` is an input of the problem, and given by name alone. Remove the `*` before it.",
            )
    for place, name in enumerate(inputs):
        if name in given and given.index(name) != place:
            yield (
                function.lineno,
                f"`{name}` is input {place} of the problem and parameter {given.index(name)} of `{function.name}`. "
                "Give the parameters the inputs' order.",
            )


def _names(statement: ast.stmt) -> Iterator[ast.Name]:
    """What an assignment of a kernel is made of."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return (part for part in ast.walk(value) if isinstance(part, ast.Name)) if value else iter(())
