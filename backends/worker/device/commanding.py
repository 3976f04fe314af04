"""Runs a person's own command on leased cores, in a fresh folder with the kernel's text, and says what it left.

It looks into nothing: what the figures are, and whether they are good enough, is decided elsewhere.
"""

from __future__ import annotations

import os
import tarfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Optional

from nki_anvil.backends.worker.device.failures import MachineFailure
from nki_anvil.backends.worker.device.programs import TOO_LATE, Programs

FILES: Final = "files.tar"
KERNEL: Final = "NKI_ANVIL_KERNEL"
RESULT: Final = "NKI_ANVIL_RESULT"
"""Environment variables of the command: where the kernel's text lies, and where its figures may go."""
_PRINTED: Final = 64 << 10
_RESULT_BYTES: Final = 1 << 20
_TELL_S: Final = 5.0
"""A model takes minutes to load; whoever waits hears that it still runs."""


def carry_out(folder: Path, command: dict[str, Any], programs: Programs, say: Callable[[str], None]) -> dict[str, Any]:
    """How the command ended, what it printed and complained of last, and its result file."""
    place = folder / "work"
    place.mkdir()
    _unpack(folder / FILES, place)
    kernel, result = place / command["kernel"], place / command["result"]
    kernel.parent.mkdir(parents=True, exist_ok=True)
    kernel.write_bytes((folder / "kernel.py").read_bytes())
    programs.environment.update({KERNEL: str(kernel), RESULT: str(result)})
    with _told(say):
        status, printed, complained = programs.run(["sh", "-c", command["line"]], str(place), command["seconds"])
    return {
        "status": None if status == TOO_LATE else status,
        "printed": printed[-_PRINTED:],
        "complained": complained[-_PRINTED:],
        "result": _text(result),
    }


def surroundings(python: str, cores: list[int], lnc: int, chip: str) -> dict[str, str]:
    """The user's own environment, in which ``python`` is the SDK's, with the leased cores."""
    ours = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {
        **kept,
        "PATH": os.pathsep.join([str(Path(python).parent), kept.get("PATH", os.defpath)]),
        "NEURON_RT_VISIBLE_CORES": ",".join(map(str, cores)),
        "NEURON_LOGICAL_NC_CONFIG": str(lnc),
        "NEURON_PLATFORM_TARGET_OVERRIDE": chip,
    }


def room(wanted: int, there: int) -> int:
    """Physical cores to lease, whole pairs since two share a memory. Raises MachineFailure where there are too few."""
    if wanted > there:
        raise MachineFailure("unsupported", f"the command asks for {wanted} physical cores, and this host has {there}")
    return min(wanted + wanted % 2, there)


def _unpack(archive: Path, place: Path) -> None:
    """Regular files below ``place`` and nothing else."""
    if not archive.exists():
        return
    with tarfile.open(archive) as opened:
        for member in opened:
            stream = opened.extractfile(member) if member.isfile() else None
            path = place / member.name
            if stream is None or ".." in path.parts or not path.is_relative_to(place):
                raise MachineFailure("protocol", f"{member.name} is no file of a command")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(stream.read())


@contextmanager
def _told(say: Callable[[str], None]) -> Generator[None]:
    done = threading.Event()

    def tell() -> None:
        seconds = 0.0
        while not done.wait(_TELL_S):
            seconds += _TELL_S
            say(f"the command runs, {seconds:.0f} s")

    say("running the command")
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _text(path: Path) -> Optional[str]:
    try:
        if not path.is_file() or path.stat().st_size > _RESULT_BYTES:
            return None
        return path.read_text(errors="replace")
    except OSError:
        return None
