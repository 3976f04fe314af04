"""Where a text asks which NKI it is given, by names that came or went: what it does in other versions nobody judges."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from nki_anvil.backends.worker.kernel_text import KernelText
from nki_anvil.lab import bindings
from nki_anvil.sim.versions import CAME, WENT

ASKING = ("getattr", "hasattr")


def asked(text: KernelText, version: str) -> tuple[str, ...]:
    """A warning for each line that asks, for a kernel that is judged as ``version`` runs it."""
    modules = bindings.modules(text.statements)
    calls = (node for statement in text.statements for node in ast.walk(statement))
    return tuple(dict.fromkeys(said for node in calls for said in _told(node, modules, text, version)))


def _told(node: ast.AST, modules: Mapping[str, frozenset[str]], text: KernelText, version: str) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=function), args=[value, ast.Constant(value=str() as name), *_]):
            if function not in ASKING:
                return
            for path in bindings.dotted(ast.copy_location(ast.Attribute(value, name, ast.Load()), node), modules):
                if (when := _when(path)) is not None:
                    yield (
                        f"{path} {when}, and line {node.lineno} asks whether it is there ({text.line(node.lineno)}): "
                        f"judged is what the kernel does in NKI {version} alone."
                    )
        case _:
            return


def _when(path: str) -> str | None:
    module, _, name = path.rpartition(".")
    came, went = CAME.get(module, {}).get(name), WENT.get(module, {}).get(name)
    if came is not None:
        return f"came with NKI {came.version}"
    return None if went is None else f"is gone since NKI {went.version}"
