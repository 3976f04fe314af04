"""Which simulator this is: a name that changes whenever its code does, so that no verdict outlives what it rests on."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path


@lru_cache(maxsize=1)
def version() -> str:
    """``simulator-`` and twelve characters of a digest over the source of ``nki_anvil.sim``, which is not imported.

    Over what a kernel's text is executed by as well: it may ask which Python, and which NumPy, that is.
    """
    spec = importlib.util.find_spec("nki_anvil.sim")
    sha = hashlib.sha256(f"{sys.version_info[:2]} {metadata.version('numpy')}".encode())
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).rglob("*.py")):
            sha.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return f"simulator-{sha.hexdigest()[:12]}"
