"""``while register:`` as NKI 0.2 to 0.6 wrote it, recognised in the tree of the kernel's text at its line.

Python asks for the register's truth before each round: the first time a loop begins, the second time its body is known.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import FrameType

from nki_anvil.sim import versions
from nki_anvil.sim.builder import live
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.parsing import parsed
from nki_anvil.sim.program import NONE
from nki_anvil.sim.register import VirtualRegister, read


def asked(register: VirtualRegister) -> bool:
    """Whether the body is traced now; raises TraceError where the register is no whole condition of a ``while``."""
    builder, frame = live(), sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    loop = _loop_at(frame) if versions.before(builder.version, "0.7") else None
    if loop is None:
        raise read("as a condition", "Use nl.while_loop(register, body).")
    place = (frame, loop.lineno)
    if not builder.whiles or builder.whiles[-1][0] != place:
        index = builder.open_loop("while", register, (0, 0, 1), (NONE, NONE))
        builder.whiles.append((place, index, register))
        return True
    _, index, condition = builder.whiles.pop()
    if register is not condition:
        _move(condition, register)
    builder.close_loop(index)
    return False


def _move(target: VirtualRegister, source: VirtualRegister) -> None:
    from nki_anvil.sim.isa.machine import register_move  # isa is made of registers

    register_move(target, source)


def _loop_at(frame: FrameType) -> ast.While | None:
    """The loop whose condition the frame evaluates, if that is one plain value."""
    text = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    loop = _loops(text).get(frame.f_lineno)
    if loop is None or not isinstance(loop.test, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    if loop.orelse or any(isinstance(node, (ast.Break, ast.Return)) for node in _own(loop.body)):
        raise TraceError(
            "NKI-CONTROL",
            "A while loop on a register has a break, a return or an else.",
            remedy="It ends when the register is 0: load 0 into it instead.",
        )
    return loop


@lru_cache(maxsize=8)
def _loops(text: str) -> dict[int, ast.While]:
    """The while loops of a text by the line of their condition."""
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {node.test.lineno: node for node in ast.walk(tree) if isinstance(node, ast.While)}


def _own(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What belongs to a loop itself: neither its inner loops' breaks nor its inner functions' returns."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        yield statement
        inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
        if isinstance(statement, (ast.For, ast.While)):
            yield from (node for node in _own(inner) if not isinstance(node, ast.Break))
        else:
            yield from _own(inner)
