"""A laboratory in a temporary folder whose kernels say themselves how fast, how wrong and how alike they are.

A kernel is text such as ``latency 10.0``, ``fails values``, ``idle floor`` or ``program p1``, one word pair a line;
everything that the laboratory does with it is real, except that nothing is computed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from nki_anvil.backends.errors import BackendUnreachable
from nki_anvil.backends.job import InputSpec, Job, ShapeSet
from nki_anvil.backends.run import Gap, Origin, Profile, Run, Samples
from nki_anvil.lab.benchmarking import benchmark_kernel
from nki_anvil.lab.evaluating import evaluate_candidates
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.finishing import finish_problem
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.profiling import profile_kernel
from nki_anvil.lab.reflecting import record_reflexion
from nki_anvil.lab.reverting import revert_to_best
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.specification import Specification, Work
from nki_anvil.lab.status import problem_status
from nki_anvil.lab.verdict import GATE_NAMES, GateResult, Verdict
from nki_anvil.lab.verifying import verify_kernel


def said(text: str, word: str, default: str = "") -> str:
    """What a kernel says about itself."""
    return next((line.split()[1] for line in text.splitlines() if line.startswith(f"{word} ")), default)


def kernel(latency: float = 10.0, *, fails: str = "", program: str = "", note: str = "", idle: str = "") -> str:
    lines = [f"latency {latency}"]
    lines += [f"fails {fails}"] if fails else []
    lines += [f"program {program}"] if program else []
    lines += [f"note {note}"] if note else []
    lines += [f"idle {idle}"] if idle else []
    return "\n".join(lines) + "\n"


@dataclass
class WordedBackend:
    """Runs nothing and answers with what the kernel says; a device adds noise between processes."""

    name: str = "simulator"
    origin: Origin = "modelled"
    toolchain: str = "fake-1"
    cores: int = 2
    noise: float = 0.0
    floor_us: float = 0.0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    jobs: list[Job] = field(default_factory=list)
    before: Callable[[Job], object] = lambda job: None
    down: bool = False

    async def run(self, job: Job, report: Any = None) -> Run:
        self.jobs.append(job)
        self.before(job)
        if self.down:
            raise BackendUnreachable("The host does not answer.", "Call again.")
        us = float(said(job.kernel, "latency", "10"))
        noisy = us * float(np.exp(self.random.normal(0, self.noise))) if self.noise else us
        profile = Profile(
            shapes="default", origin=self.origin, latency_us=us, floor_us=self.floor_us,
            gaps=(Gap(name="small_transfers", cost_us=us / 2),), metrics={"hbm_read_bytes": us},
        )  # fmt: skip
        samples = Samples(us=(noisy,) * (1 if self.origin == "modelled" else 3), timer="model")
        return Run(
            job=job.digest(), backend=self.name, origin=self.origin, toolchain=self.toolchain,
            profiles=(profile,), samples=samples if job.purpose == "benchmark" else None, seconds={"execute": 1.0},
        )  # fmt: skip

    async def close(self) -> None:
        pass


def verdict_of(specification: Specification, text: str, digest: str, backend: Any) -> Verdict:
    fails = said(text, "fails")
    gates: list[GateResult] = []
    for name in GATE_NAMES:
        reached = not gates or gates[-1].passed is True
        gates.append(
            GateResult(name=name, passed=(name != fails) if reached else None, detail="" if reached else "not reached")
        )
    idle = (said(text, "idle"),) if said(text, "idle") else ()
    program = hashlib.sha256((said(text, "program") or digest).encode()).hexdigest()
    return Verdict(
        problem=specification.name, problem_version=specification.version, kernel_digest=digest,
        instruction_digest=program, programs_digest=program, backend=backend.name, origin=backend.origin,
        toolchain=backend.toolchain, passed=not fails, gates=tuple(gates), tolerance=specification.tolerance,
        warnings=idle, unjudged=idle, seconds=1.0,
    )  # fmt: skip


@dataclass
class World:
    """A workspace with one problem ``p`` and a laboratory on it; ``again`` is the server after a restart."""

    root: Path
    backend: WordedBackend = field(default_factory=WordedBackend)
    rules: Rules = field(default_factory=Rules)
    verifications: list[str] = field(default_factory=list)
    told: list[tuple[str, str, int | None]] = field(default_factory=list)
    second_look: bool = True
    refused: str = ""
    """Kernels in which this stands fail from now on."""
    meanwhile: Callable[[], object] = lambda: None
    """What somebody does while a kernel is verified."""
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)
        (self.workspace / "reference.py").write_text("def forward(x): return x\n")
        self.edit(kernel(10.0))
        self.lab = self.again()

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def file(self) -> Path:
        return self.workspace / "kernel.py"

    @property
    def state(self) -> Path:
        return self.workspace / ".nki-anvil" / "problems" / "p"

    def edit(self, text: str) -> str:
        self.file.write_text(text)
        return text

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def again(self) -> Laboratory:
        """Another laboratory on the same state: a restarted server, or a second client's."""
        return Laboratory(
            workspace=self.workspace, data=self.root / "data", backends={self.backend.name: self.backend},
            random=np.random.default_rng(1), clock=self.clock, backend=self.backend.name, rules=self.rules,
            changed=lambda problem, what, attempt: self.told.append((problem, what, attempt)),
            load=self.load, verify=self.verify_text,
        )  # fmt: skip

    async def load(
        self, reference: Path, *, name: Any, kernel: Any, tolerance: Any, chip: Any, **_: Any
    ) -> Specification:
        if reference.suffix != ".py":
            reference = next(
                one for one in (reference / "reference.py", self.workspace / "reference.py") if one.exists()
            )
        version = hashlib.sha256(f"{reference}{tolerance}".encode()).hexdigest()
        inputs = (InputSpec(name="x", shape=(128, 128)),)
        return Specification(
            name=name or "p", version=version, reference=str(reference), kernel=str(kernel or self.file),
            reference_digest=fingerprint(reference),
            tolerance=tolerance or 2e-5, shape_sets={"default": ShapeSet(name="default", inputs=inputs)},
            work={"default": Work(bytes=368e3, matmul_flops=0, vector_flops=1000)},
        )  # fmt: skip

    async def verify_text(
        self, specification: Specification, text: str, digest: str, *, backend: Any, unseen: bool, **_: Any
    ) -> Verdict:
        self.verifications.append(digest)
        self.meanwhile()
        verdict = verdict_of(specification, text, digest, backend)
        if (unseen and not self.second_look) or (self.refused and self.refused in text):
            return verdict_of(specification, text + "fails values\n", digest, backend)
        return verdict.model_copy(update={"unseen": unseen})

    def copied(self) -> Laboratory:
        """One on a copy of the whole workspace, state and all, in another folder."""
        shutil.copytree(self.workspace, self.root / "copy")
        return dataclasses.replace(self.again(), workspace=self.root / "copy")

    # the operations, on the problem ``p``, by default on this laboratory

    async def open(self, **more: Any) -> Any:
        return await open_problem(self.lab, more.pop("reference", "reference.py"), **more)

    async def verify(self, text: str | None = None, **more: Any) -> Any:
        return await verify_kernel(more.pop("lab", self.lab), "p", **self._kernel(text), **more)

    async def benchmark(self, text: str | None = None, **more: Any) -> Any:
        return await benchmark_kernel(more.pop("lab", self.lab), "p", **self._kernel(text), **more)

    async def attempt(self, text: str) -> Any:
        """What an assistant does: edit the file, verify, benchmark if it passed."""
        self.edit(text)
        verified = await self.verify()
        return await self.benchmark() if verified.passed else verified

    async def evaluate(self, kernels: list[Any], **more: Any) -> Any:
        return await evaluate_candidates(self.lab, "p", kernels, **more)

    async def reflect(self, attempt: int, **more: Any) -> Any:
        words: dict[str, Any] = {"diagnosis": "d", "change": "c", "expected": "e", "lesson": "l"}
        return await record_reflexion(more.pop("lab", self.lab), "p", attempt, **{**words, **more})

    async def revert(self) -> Any:
        return await revert_to_best(self.lab, "p")

    async def profile(self, text: str | None = None, **more: Any) -> Any:
        return await profile_kernel(self.lab, "p", **self._kernel(text), **more)

    async def status(self, **more: Any) -> Any:
        return await problem_status(more.pop("lab", self.lab), "p")

    async def finish(self) -> Any:
        return await finish_problem(self.lab, "p")

    @staticmethod
    def _kernel(text: str | None) -> dict[str, Any]:
        return {} if text is None else {"source": text}
