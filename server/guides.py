"""The guides that ship with the package: Markdown files whose first line is their title."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def topics() -> list[str]:
    return sorted(file.name.removesuffix(".md") for file in _folder().iterdir() if file.name.endswith(".md"))


def text(topic: str) -> str:
    """Raises KeyError for a topic there is not."""
    if topic not in topics():
        raise KeyError(topic)
    return _folder().joinpath(f"{topic}.md").read_text(encoding="utf-8")


def title(topic: str) -> str:
    return text(topic).partition("\n")[0].lstrip("# ").strip()


def _folder() -> Traversable:
    return files("nki_anvil.resources")
