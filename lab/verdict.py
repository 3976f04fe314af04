"""The server's judgement of one kernel on one problem: nine gates, always nine entries."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab.heat import Heat

GATE_NAMES: Final = (
    "language", "reproducible", "machine", "outputs", "values", "sensitivity", "determinism", "plausibility",
    "artefact",
)  # fmt: skip
"""In the order in which they are passed; the first that fails ends the verification."""

GATE_SET: Final = 35
"""Version of the gates, families and limits together; part of the verdict key."""

PROGRAM_GATES: Final = frozenset({"machine", "outputs", "values", "sensitivity", "determinism"})
"""What these find is the program's doing, whatever text it was traced from, but they see it only on what they drew."""

Pattern = Literal[
    "",
    "missing_tile",
    "shifted",
    "transposed",
    "scaled",
    "precision",
    "approximation",
    "uninitialised",
    "overflow",
    "wrong_reduction",
    "unknown",
]


class GateResult(Record):
    """One gate. ``passed`` is None where it was not reached or does not apply; ``detail`` says which."""

    name: str
    passed: bool | None = None
    detail: str = ""
    code: str = ""
    """A rule's code where a rule decided."""
    line: int | None = None


class Where(Record):
    """The worst place of a wrong output: as much as the model may see of a hidden case."""

    output: int
    index: tuple[int, ...]
    row: tuple[int, ...]
    family: str
    shapes: str
    got: float
    expected: float
    pattern: Pattern = ""
    excerpt: str = ""


class Verdict(Record):
    """Passed if no gate is false and none was left unreached."""

    problem: str
    problem_version: str
    kernel_digest: str
    instruction_digest: str = ""
    """At the timed shape; empty where the kernel does not trace."""
    programs_digest: str = ""
    """Of the instructions at every shape that was judged; empty where some of them are not known."""
    artefact: str = ""
    """What the device's compiler made of it at the timed shape, as a digest; empty where nothing is compiled."""
    backend: str
    origin: Origin
    toolchain: str
    gate_set: int = GATE_SET
    full: bool = True
    unseen: bool = False
    """On cases that were drawn for this look alone."""
    passed: bool
    gates: tuple[GateResult, ...]
    worst_error: float | None = None
    """Largest relative L2 error of a whole output over the own draws."""
    limit_use: float | None = None
    """Largest measured / allowed over every limit and case; above 1 fails."""
    tolerance: float
    where: Where | None = None
    heat: Heat | None = Field(default=None, exclude=True, repr=False)
    """For the picture beside the stored verdict; not stored with it."""
    hint: str = ""
    warnings: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    """Those warnings that tell of what the kernel does and no case shows: there it passes without being judged."""
    cases: int = 0
    families: dict[str, int] = Field(default_factory=dict)
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, int, bool]:
        """Under which it holds: another problem, backend, toolchain or set of gates asks for another verdict."""
        return (self.problem_version, self.backend, self.toolchain, self.gate_set, self.full)

    @property
    def failed_gate(self) -> str | None:
        """The gate that stopped the kernel, if one did."""
        return next((gate.name for gate in self.gates if gate.passed is False), None)

    @property
    def condemns_program(self) -> bool:
        """Whether it holds for every text that is traced to these instructions."""
        return bool(self.programs_digest) and not self.passed and self.failed_gate in PROGRAM_GATES

    def passed_on(self, attempt: int, digest: str, seconds: float = 0.0) -> Verdict:
        """This one, of ``attempt``, as the verdict of another text with the same instructions."""
        found = self.failed_at(f"Attempt {attempt} has the same instructions, and there: ")
        return found.model_copy(update={"kernel_digest": digest, "seconds": seconds})

    def failed_at(self, where: str) -> Verdict:
        """This one, whose gates say where they were failed."""
        gates = tuple(
            gate.model_copy(update={"detail": where + gate.detail}) if gate.passed is False else gate
            for gate in self.gates
        )
        return self.model_copy(update={"gates": gates})
