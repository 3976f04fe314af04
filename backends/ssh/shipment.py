"""The worker as an archive, named by the digest of what is in it, so that a host gets each version once."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

_PACKAGES: Final = {"nki_anvil/backends/worker": "nki_anvil.backends.worker", "nki_anvil/sim": "nki_anvil.sim"}
_START: Final = "nki_anvil/backends/worker/device/start.py"


@dataclass(frozen=True)
class Shipment:
    digest: str
    archive: bytes
    """A gzipped tar archive; ``start.py`` is what is run."""


@lru_cache(maxsize=1)
def shipment() -> Shipment:
    """The worker and the simulator as they are installed here."""
    files = {"nki_anvil/backends/__init__.py": b'"""The part of the package that a host gets."""\n'}
    for prefix, package in _PACKAGES.items():
        for folder in _folders(package):
            for path in sorted(folder.rglob("*.py")):
                files[f"{prefix}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    files["start.py"] = files[_START]
    sha = hashlib.sha256()
    for name, data in sorted(files.items()):
        sha.update(f"{name}\0{len(data)}\0".encode() + data)
    return Shipment(sha.hexdigest()[:32], _packed(files))


def _folders(package: str) -> list[Path]:
    specification = importlib.util.find_spec(package)
    return [Path(folder) for folder in (specification and specification.submodule_search_locations) or ()]


def _packed(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files, whenever it is made."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(stream.getvalue(), mtime=0)
