"""A seed, loaded without the laboratory: its declared dimensions, its reference and its kernel on the simulator."""

import importlib.util
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from nki_anvil.sim.execution import Executable, Outcome
from nki_anvil.sim.modules import install
from nki_anvil.sim.program import Program, decode
from nki_anvil.sim.rules import Finding, check
from nki_anvil.sim.tracing import trace

ROOT = Path(__file__).parents[1]
PROBLEMS = ROOT / "seeds" / "problems"
VARIANTS = ROOT / "tests" / "kernels"
NAMES = sorted(path.name for path in PROBLEMS.iterdir() if path.is_dir())


@dataclass(frozen=True)
class Seed:
    """One problem's folder."""

    name: str

    @property
    def declared(self) -> dict[str, Any]:
        return tomllib.loads((PROBLEMS / self.name / "problem.toml").read_text())

    def dims(self, shapes: str = "default") -> dict[str, int]:
        declared = self.declared
        return declared["dims"] if shapes == "default" else declared["dims"] | declared["shapes"][shapes]

    def reference(self, shapes: str = "default", **dims: int) -> ModuleType:
        """The reference module with a shape set's dimensions in place of its constants."""
        module = load(PROBLEMS / self.name / "reference.py")
        for name, size in (self.dims(shapes) | dims).items():
            setattr(module, name, size)
        return module

    def program(self, inputs: list[Any], kernel: Path | None = None) -> Program:
        """The kernel, or a variant, traced for these inputs and carried as bytes, as between processes."""
        with install():
            module = load(kernel or PROBLEMS / self.name / "kernel.py")
            return decode(trace(module.kernel, *inputs).encode())


@dataclass(frozen=True)
class Ran:
    """One run of a program, with what the rules found in it."""

    findings: list[Finding]
    outcome: Outcome

    @property
    def output(self) -> np.ndarray:
        (output,) = self.outcome.outputs
        return output


def load(path: Path) -> ModuleType:
    """A fresh module from a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(program: Program, inputs: list[Any], poison: int = 0) -> Ran:
    """Check and execute a program on the arrays among the inputs."""
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    return Ran(check(program), Executable(program).run(arrays, poison))


def exact(module: ModuleType, inputs: list[Any]) -> np.ndarray:
    """The reference in float64."""
    with np.errstate(all="ignore"):
        return module.forward(
            *(value.astype(np.float64) if isinstance(value, np.ndarray) else value for value in inputs)
        )


def distance(output: np.ndarray, expected: np.ndarray) -> float:
    """The worst row's relative L2 error; rows that are zero everywhere count by their absolute error."""
    error = np.linalg.norm(np.asarray(output, np.float64) - expected, axis=-1)
    size = np.linalg.norm(expected, axis=-1)
    return float((error / np.where(size == 0, 1, size)).max())
