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


def row(topic: str, code: str) -> str:
    """What a guide's table says of a code: the other cells of its first row that names it; empty where none does."""
    for line in text(topic).splitlines():
        first, *cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells and f"`{code}`" in first:
            return "; ".join(cells)
    return ""


def _folder() -> Traversable:
    return files("nki_anvil.resources")
