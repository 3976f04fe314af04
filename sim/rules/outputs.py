"""What a kernel returns: tensors in shared HBM as they lie there, none too large."""

from __future__ import annotations

from collections.abc import Iterator

from nki_anvil.sim import dtypes
from nki_anvil.sim.kinds import dynamic
from nki_anvil.sim.program import MEMORIES, ROLES
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation

_LARGEST = 1 << 32


def _shared(reading: Reading) -> Iterator[Violation]:
    tensors, accesses = reading.program.tables["tensors"], reading.program.tables["accesses"]
    for position, access in enumerate(reading.program.tables["outputs"]["access"].tolist()):
        tensor = int(accesses["tensor"][access])
        memory = MEMORIES[int(tensors["memory"][tensor])]
        if memory != "shared_hbm" and int(tensors["role"][tensor]) == ROLES.index("internal"):
            yield Violation(int(tensors["line"][tensor]), f"Output {position} is in {memory}.")


def _large(reading: Reading) -> Iterator[Violation]:
    tensors, accesses = reading.program.tables["tensors"], reading.program.tables["accesses"]
    for position, access in enumerate(reading.program.tables["outputs"]["access"].tolist()):
        tensor = int(accesses["tensor"][access])
        size = int(tensors["elements"][tensor]) * dtypes.size_of(dtypes.NAMES[int(tensors["dtype"][tensor])])
        if size >= _LARGEST:
            yield Violation(int(tensors["line"][tensor]), f"Output {position} has {size} bytes.")


def _bent(reading: Reading) -> Iterator[Violation]:
    program = reading.program
    tensors, accesses, moves = program.tables["tensors"], program.tables["accesses"], dynamic(program)
    for position, access in enumerate(program.tables["outputs"]["access"].tolist()):
        line = int(tensors["line"][int(accesses["tensor"][access])])
        if moves[access]:
            yield Violation(line, f"Output {position} is a view that a register or an index moves at run time.")
        elif not _in_order(program.pattern(access)):
            yield Violation(line, f"Output {position} is a view that exchanges, skips or repeats elements.")


def _in_order(pattern: list[tuple[int, int]]) -> bool:
    """Whether elements follow one another as they lie in memory."""
    following = 1
    for step, count in reversed(pattern):
        if count > 1 and step != following:
            return False
        following *= count
    return True


RULES = (
    Rule(
        code="TRN2-OUT-SHARED",
        text="What a kernel returns is in shared HBM.",
        severity="error",
        remedy="Allocate it with nl.ndarray(..., buffer=nl.shared_hbm) and store the result there.",
        source="NKI 0.3.0 release notes (Neuron 2.29)",
        breaches=_shared,
        before={"0.3": "warning"},
    ),
    Rule(
        code="TRN2-OUT-VIEW",
        text="What a kernel returns is a tensor as it lies in memory: no transposed, strided, repeated or moving view.",
        severity="error",
        remedy="Store the result in the order in which it is returned.",
        source="nki.jit: a kernel returns the tensors that it allocated in shared HBM",
        breaches=_bent,
    ),
    Rule(
        code="TRN2-OUT-SIZE",
        text="An output is smaller than 4 GiB.",
        severity="error",
        remedy="Return it in several tensors.",
        source="Neuron Compiler error codes, NCC_EVRF024",
        breaches=_large,
    ),
)
