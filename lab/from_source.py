"""Modules that belong to a reference are compiled from the text that is fingerprinted, never taken from bytecode.

What ``__pycache__`` holds may be of an older text, or of none, and nothing tells. Nothing is written there either.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType


def import_own(installed: Callable[[Path], bool]) -> None:
    """From now on, for as long as the process lives; what is ``installed`` keeps its bytecode, for it would be slow."""
    cached = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if installed(Path(path).resolve()):
            return cached(self, fullname)
        return self.source_to_code(self.get_data(path), path)

    SourceFileLoader.get_code = get_code
