"""What a reference calls of NumPy's that computes in double by itself, whatever it is given.

Of such a function no run is one in float32, and limits are those of its inputs and outputs alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

MODULES: Final = ("linalg", "fft")
FUNCTIONS: Final = ("cov", "corrcoef", "polyfit", "roots", "logaddexp", "logaddexp2")
"""The last two are sums, whose reductions have one order."""


def warnings(content: bytes) -> tuple[str, ...]:
    """One sentence, if there are any; the text is a reference's, which is known to parse."""
    if not (called := sorted(set(_called(ast.parse(content))))):
        return ()
    return (
        f"Limits know no float32 arithmetic within {', '.join(called)}: an honest kernel may be refused for its "
        "roundings. Write that in arrays, or products of matrices, where it is a kernel's work.",
    )


def _called(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=module), attr=name):
                if module in MODULES and name != "norm":
                    yield f"np.{module}.{name}"
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr=name) if name in FUNCTIONS:
                yield f"np.{name}"
            case _:
                pass
