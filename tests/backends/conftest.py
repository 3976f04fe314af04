from collections.abc import Callable
from pathlib import Path

import pytest

from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import InputSpec, Job, Limits, Purpose, ShapeSet

SQUARE = ShapeSet(
    name="default",
    inputs=(InputSpec(name="x", shape=(128, 512)), InputSpec(name="scale", dtype="float", value=2.0)),
)


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChildBackend:
    """A simulator whose every folder lies below ``tmp_path``."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    return ChildBackend(tmp_path / "jobs", cores=2)


@pytest.fixture
def job() -> Callable[..., Job]:
    """A job for a kernel text at one small shape."""

    def build(kernel: str, *, purpose: Purpose = "verify", limits: Limits | None = None, **fields: object) -> Job:
        limits = limits or Limits(trace_s=5.0)
        given = {"kernel_digest": "0" * 64, "shape_sets": (SQUARE,), **fields}
        return Job.model_validate({"purpose": purpose, "kernel": kernel, "limits": limits, **given})

    return build


@pytest.fixture
def working_below(tmp_path: Path) -> Callable[[], list[int]]:
    """The processes whose working folder lies below ``tmp_path``."""

    def find() -> list[int]:
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    folder = str((entry / "cwd").readlink())
                except OSError:
                    continue
                found += [int(entry.name)] if folder.startswith(str(tmp_path)) else []
        return found

    return find
