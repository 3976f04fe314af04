"""What a process that runs kernel text may not do, by platform: the one place that knows and says which walls stand.

Three moments: ``environment`` before it starts, ``detach`` as its first act, ``confine`` just before kernel text is
touched.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Optional

from nki_anvil.backends.worker import landlock, seccomp

_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000  # CLONE_NEW* of linux/sched.h
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_OPEN_FILES: Final = 64
_THREADS: Final = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Bounds:
    """Resource limits of one process. A field of None leaves that limit alone."""

    cpu_s: int
    memory_bytes: int
    processes: Optional[int] = None
    file_bytes: Optional[int] = None


@dataclass(frozen=True)
class Protection:
    """One wall around the kernel process: whether it stands here, and what its absence means."""

    name: str
    active: bool
    detail: str


def environment(hash_seed: int, *, filled: bool = False) -> dict[str, str]:
    """All environment variables of a process that runs kernel text.

    Memory that nobody has written is ``filled`` by lot (glibc's MALLOC_PERTURB_), or as the system leaves it.
    """
    memory = {"MALLOC_PERTURB_": str(1 + os.urandom(1)[0] % 254)} if filled else {}
    return {"PYTHONHASHSEED": str(hash_seed), "LANG": "C.UTF-8", "PYTHONUTF8": "1", **_THREADS, **memory}


def detach() -> list[str]:
    """Leave the network and the user's other processes behind, and die with the parent; returns the walls that stand.

    Must come before the process has threads. Needs no privilege; a wall that the system forbids is not in the list.
    """
    walls = ["namespaces"] if _unshare() else []
    die_with_parent()
    return walls


def confine(bounds: Bounds, readable: Iterable[str]) -> list[str]:
    """Put up every wall that this system has, for good; returns their names."""
    volunteer_for_out_of_memory()
    limit(bounds)
    walls = ["limits"]
    if landlock.version() and _tried(lambda: landlock.apply(readable)):
        walls.append("landlock")
    if seccomp.supported() and _tried(seccomp.apply):
        walls.append("seccomp")
    return walls


def limit(bounds: Bounds) -> None:
    """Set resource limits, soft and hard; a limit that is already lower stays."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_CPU, bounds.cpu_s)
    _lower(resource.RLIMIT_AS, bounds.memory_bytes)
    if bounds.processes is not None:
        _lower(resource.RLIMIT_NPROC, bounds.processes)
    if bounds.file_bytes is not None:
        _lower(resource.RLIMIT_FSIZE, bounds.file_bytes)


def die_with_parent() -> None:
    """Be killed when the parent ends (Linux), also when it ended just before this call."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends (Linux); whether that worked."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_inspection() -> bool:
    """Let no other process of this user read or trace this one (Linux)."""
    return _prctl(_PR_SET_DUMPABLE, 0)


def volunteer_for_out_of_memory() -> None:
    """If memory runs out, this process is the one to go (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def end_group(group: int) -> None:
    """Kill a process group that this process started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_strays(known: set[int]) -> int:
    """Kill and reap the children of this process that it did not start itself (adopted orphans); returns how many."""
    ended = 0
    while strays := [pid for pid in _children() if pid not in known]:
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        ended += len(strays)
    return ended


def describe() -> list[Protection]:
    """Every wall and whether it stands on this machine, tried in a process of its own."""
    standing = _trial()
    return [Protection(name, name in standing, detail) for name, detail in _WALLS.items()]


_WALLS: Final = {
    "limits": "time, memory, file size and open files are limited by the system",
    "namespaces": "no network, no rights over the user's processes; without it only the filter stands between",
    "landlock": "no file can be written, and none read but Python's and NumPy's; without it kernel text can read and "
    "delete what the user can",
    "seccomp": "no process can be started and no socket opened; without it processes are limited in number and killed",
    "subreaper": "daemonised grandchildren are found and killed; without it one that left the group survives",
}


def _trial() -> list[str]:
    """Puts the walls up in a forked child and reads back which stood."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            walls = detach() + confine(Bounds(10, 1 << 30, processes=1, file_bytes=0), [])
            walls += ["subreaper"] if sys.platform == "linux" else []
            os.write(writer, " ".join(walls).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        walls = stream.read().split()
    os.waitpid(child, 0)
    return walls


def _unshare() -> bool:
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) == 0


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def _lower(which: int, value: int) -> None:
    """Lower one limit; systems that know it but refuse it (RLIMIT_AS on macOS) leave it as it is."""
    _, hard = resource.getrlimit(which)
    wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(which, (wanted, wanted))


def physical_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _children() -> list[int]:
    """Direct children of this process (Linux; elsewhere nobody is adopted)."""
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    try:
        return [int(pid) for pid in listing.read_text().split()]
    except OSError:
        return []


def _tried(wall: Callable[[], None]) -> bool:
    try:
        wall()
    except OSError:
        return False
    return True
