"""What kind of filesystem a folder lies on: SQLite's write-ahead log needs memory that its processes share.

Source, also for why a network filesystem gives none: https://www.sqlite.org/wal.html
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

NETWORK: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "lustre", "ceph", "glusterfs", "gpfs", "beegfs",
    "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "fuse.ceph", "fuse.mount-s3", "fuse.rclone", "fuse.gcsfuse",
})  # fmt: skip
"""As Linux names them in ``/proc/self/mountinfo``."""
MOUNTS: Final = Path("/proc/self/mountinfo")


def network(folder: Path, mounts: Path = MOUNTS) -> str:
    """The kind of the network filesystem on which ``folder`` lies; empty for a local one, or where nobody says."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place, best, kind = os.path.realpath(folder), "", ""
    for line in lines:
        mounted, _, rest = line.partition(" - ")
        fields = mounted.split(" ")
        if len(fields) > 4 and _holds(point := _unescaped(fields[4]), place) and len(point) >= len(best):
            best, kind = point, rest.split(" ")[0]
    return kind if kind in NETWORK else ""


def _holds(point: str, place: str) -> bool:
    return place == point or place.startswith(point.rstrip("/") + "/")


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
