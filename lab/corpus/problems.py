"""What a problem folder states of its kernel, in the terms of a ``corpus.toml``: the reference's own inputs."""

from __future__ import annotations

from pathlib import Path

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab import problem_file, seeds
from nki_anvil.lab.corpus import discovery
from nki_anvil.lab.corpus.sidecar import Sidecar, Stated

FILE = "problem.toml"


def kernel_file(named: Path) -> Path:
    """The kernel's file: of a seed by ``seed:NAME``, of a folder with a ``problem.toml``, else the file itself."""
    if str(named).startswith(seeds.PREFIX):
        named = seeds.place(str(named).removeprefix(seeds.PREFIX))
    named = named.expanduser().resolve()
    if named.is_dir() and (named / FILE).is_file():
        return named / problem_file.read(named / FILE).kernel
    return named


def stated(file: Path) -> Sidecar:
    """The kernel of the problem beside a file, called with what its reference's ``get_inputs`` draws."""
    problem = problem_file.read(file.parent / FILE)
    one = Stated(
        file=file.name,
        entry=problem.entry or _only_kernel(file),
        inputs=f"{Path(problem.reference).stem}:get_inputs",
        lnc=problem.lnc if problem.lnc > 1 else 0,
        version=problem.nki_version,
    )
    return Sidecar(kernel=(one,))


def _only_kernel(file: Path) -> str:
    names = [name for found in discovery.discover(file.parent) if found.file == file for name, _ in found.kernels]
    if len(names) != 1:
        message = f"{file.name} holds {len(names)} kernels, and {FILE} does not say which is meant."
        raise ArgumentsInvalid(message, 'Name it there: entry = "...".')
    return names[0]
