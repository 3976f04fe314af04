"""Which simulator this is: a name that changes whenever its code does, so that no verdict outlives what it rests on."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def version() -> str:
    """``simulator-`` and twelve characters of a digest over the source of ``nki_anvil.sim``, which is not imported."""
    spec = importlib.util.find_spec("nki_anvil.sim")
    sha = hashlib.sha256()
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).rglob("*.py")):
            sha.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return f"simulator-{sha.hexdigest()[:12]}"
