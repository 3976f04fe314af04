"""The kernels and references of the seeds as functions of this process."""

import importlib.util
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from nki_anvil.sim import install


def module_at(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def kernel_of(seed: Path) -> Callable[..., Any]:
    with install():
        return module_at(seed / "kernel.py").kernel


def reference_of(seed: Path, shapes: str = "default") -> ModuleType:
    """The reference module with the dimensions of one of the problem's shape sets."""
    module = module_at(seed / "reference.py")
    declared = tomllib.loads((seed / "problem.toml").read_text())
    for name, size in declared.get("shapes", {}).get(shapes, {}).items():
        setattr(module, name, size)
    return module
