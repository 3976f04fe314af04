"""Which comparisons by ``is`` ask what a thing is, and which ask for the one copy of it that happens to be there.

Of two equal numbers or texts Python may keep one or both, so that which is held tells how often a kernel was called.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from nki_anvil.lab import allowed, bindings
from nki_anvil.sim import dtypes

KINDS: Final = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
"""Names of Python's own types."""
_ALONE: Final = (None, True, False, ...)
_HBM: Final = frozenset({"hbm", "private_hbm", "shared_hbm"})
"""In which of these a tensor lies is its caller's, and comparing by ``==`` is refused where a kernel is traced."""
_TEXTS: Final = frozenset({*dtypes.NAMES, *dtypes.FOREIGN})
"""Dtypes are texts to NKI, of which there may be any number that are equal."""


class Unique:
    """What there is one of only, in a text: types, members of the language and of enumerations."""

    def __init__(self, statements: Iterable[ast.stmt], modules: Mapping[str, frozenset[str]]) -> None:
        nodes = [node for one in statements for node in ast.walk(one)]
        bound = Counter(name for node in nodes for name in bindings.binds(node))
        classes = [node for node in nodes if isinstance(node, ast.ClassDef) and bound[node.name] == 1]
        self._classes = frozenset(one.name for one in classes)
        self._kinds = KINDS - bound.keys()
        self._enumerations = frozenset(
            one.name
            for one in classes
            if any(path.startswith("enum.") for base in one.bases for path in bindings.dotted(base, modules))
        )

    def is_class(self, name: str) -> bool:
        """Whether a name is a class of the text, and never anything else."""
        return name in self._classes

    def suffices(self, node: ast.Compare, modules: Mapping[str, frozenset[str]]) -> bool:
        """Whether one side of every ``is`` of a comparison is something that there is one of only."""
        sides = pairwise([node.left, *node.comparators])
        asked = [pair for pair, by in zip(sides, node.ops, strict=True) if isinstance(by, (ast.Is, ast.IsNot))]
        return all(any(self._is_alone(side, modules) for side in pair) for pair in asked)

    def _is_alone(self, side: ast.expr, modules: Mapping[str, frozenset[str]]) -> bool:
        match side:
            case ast.Constant(value=value):
                return any(value is one for one in _ALONE)
            case ast.Name(id=name) if name in self._classes or name in self._kinds:
                return True
            case ast.Attribute(value=ast.Name(id=name)) if name in self._enumerations:
                return True
            case _:  # other modules have numbers among their members
                paths = bindings.dotted(side, modules)
                if any(path.rpartition(".")[2] in _HBM | _TEXTS for path in paths):
                    return False
                return bool(paths) and all(path.partition(".")[0] in allowed.LANGUAGE for path in paths)
