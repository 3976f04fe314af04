"""What is to be computed: the specification of a problem, from ``problem.toml`` or inferred from a bare reference.

It must not know how anything is verified or timed.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nki_anvil.backends.job import InputSpec, Record, ShapeSet
from nki_anvil.backends.run import ArraySpec

Precision = Literal["float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2"]


class Work(Record):
    """What the problem takes at its timed shape, whoever computes it; None where it is unknown."""

    bytes: float | None = None
    """All inputs plus all outputs, as AccelOpt counts them."""
    matmul_flops: float | None = None
    vector_flops: float | None = None


class EndToEnd(Record):
    """A command that runs the whole program, instead of a reference and kernel inputs."""

    command: str
    result: str
    accuracy_min: float | None = None
    patterns: dict[str, str] = Field(default_factory=dict)
    """Regular expressions of output lines by figure."""
    folder: str
    """Absolute path of the problem's folder, in which its files lie."""
    kernel: str
    """Where the command finds the kernel's text, in the folder in which it is run."""
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of what is sent along, by path in the folder."""
    cores: int = 1
    seconds: float = 3600.0
    language: bool = True
    """The kernel's text has to pass the gate ``language`` before the command may import it."""
    calibration_rounds: int = 5


class Specification(Record):
    """One problem, pinned at opening."""

    name: str
    version: str
    """SHA-256 over reference source, problem.toml, declared transforms and tolerance."""
    reference: str
    """Absolute path of the reference module."""
    reference_digest: str = ""
    """SHA-256 of its source: no other is measured under this version. Empty in what was opened before it was kept."""
    declared_digest: str = ""
    """SHA-256 of the problem.toml that was read; empty where there is none."""
    reference_beside: dict[str, str] = Field(default_factory=dict)
    """Fingerprints of what it imports, reads or looks for, by absolute path: part of the version as well."""
    kernel: str
    """Absolute path of the working file."""
    entry: str | None = None
    chip: str = "trn2"
    lnc: Literal[1, 2] = 1
    nki_version: str = "0.7"
    precision: Precision = "float32"
    tolerance: float = 2e-5
    stochastic: bool = False
    data_loops: bool = False
    """How often a loop runs may depend on the values of float inputs."""
    verify: tuple[str, ...] = ("default",)
    timed: str = "default"
    dims: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Dimensions by shape set."""
    shape_sets: dict[str, ShapeSet] = Field(default_factory=dict)
    """The kernel's arguments by shape set."""
    arguments: dict[str, ShapeSet] = Field(default_factory=dict)
    """The reference's arguments by shape set, where a transform makes the kernel's different ones; else empty."""
    outputs: dict[str, tuple[ArraySpec, ...]] = Field(default_factory=dict)
    """What the reference returns, by shape set, as far as it was run at opening."""
    in_place: dict[str, int] = Field(default_factory=dict)
    """Mutable inputs that the reference updates, by name: the output that each is afterwards."""
    work: dict[str, Work] = Field(default_factory=dict)
    """By shape set."""
    own_draws: Literal["inputs", "reference"] = "inputs"
    """Whether the problem's own distribution is in the input specifications, or only in ``get_inputs``."""
    transforms: bool = False
    """The reference declares a transform_to_nki_inputs that changes something."""
    reshapes: bool = False
    """It declares a transform_nki_outputs, which reshapes: kernels return as many elements in whatever shape."""
    inferred: bool = False
    e2e: EndToEnd | None = None
    numbers: tuple[float, ...] = ()
    """Those that the reference's module is written with, without their signs."""
    warnings: tuple[str, ...] = ()

    def reference_arguments(self, shapes: str) -> ShapeSet:
        """The reference's arguments at a shape set."""
        return self.arguments.get(shapes) or self.shape_sets[shapes]

    def arrays(self, shapes: str) -> tuple[InputSpec, ...]:
        """The kernel's array arguments at a shape set, without Python scalars."""
        return tuple(spec for spec in self.shape_sets[shapes].inputs if spec.shape is not None)
