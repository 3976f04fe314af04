"""The user's kernel file: where it may lie, and its text, with clear errors."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from nki_anvil.backends.errors import KernelMissing, PathOutside, PathUnreadable
from nki_anvil.lab import state

_ANOTHER: Final = "Give another path, or rename the file."

LARGEST_BYTES: Final = 1 << 20
"""Far beyond any kernel, which is kept and judged whole; a file of gigabytes given by mistake is not read."""


def confine(workspace: Path, path: str | Path) -> Path:
    """The absolute path that ``path`` (relative to the workspace) leads to. Raises PathOutside, also through a link."""
    inside = workspace.resolve()
    try:
        found = _followed(inside / path)
    except (OSError, RuntimeError, ValueError) as error:
        raise PathUnreadable(f"{str(path)!a} is not a path that can be followed: {error}.", _ANOTHER) from error
    if not found.is_relative_to(inside):
        raise PathOutside(
            f"{path} leads to {found}, outside the workspace {inside}.",
            "Give a path inside it, or set NKI_ANVIL_WORKSPACE.",
        )
    return found


def _followed(path: Path) -> Path:
    """Raises what the system says of loops and of names that are too long, and UnicodeError for one that is no text."""
    found = path.resolve()
    str(found).encode()
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        found.lstat()
    return found


def of_a_problem(workspace: Path, path: str | Path) -> Path:
    """As ``confine``, for a file that may be written: a server's own records are none, be it another one's that works
    in a folder below. Raises PathOutside."""
    found = confine(workspace, path)
    if state.FOLDER in found.relative_to(workspace.resolve()).parts:
        raise PathOutside(
            f"{path} leads into {state.FOLDER}, where the server keeps its own records.",
            "Copy the kernel to another place in the workspace, and give that path.",
        )
    return found


def to_write(workspace: Path, path: Path) -> Path:
    """Where a problem's own file is written: at its place, so that a link put there goes and what it leads to stays.

    Raises PathOutside, also where a folder above it became a link since the problem was opened: somebody else's file
    may lie there.
    """
    of_a_problem(workspace, path)
    folder = confine(workspace, path.parent)
    if path.is_absolute() and folder != path.parent and path.parent.is_relative_to(workspace.resolve()):
        raise PathOutside(
            f"{path.parent} is a link by now, and leads to {folder}.", "Remove the link, or open the problem again."
        )
    return folder / path.name


def read(path: Path, shown: str | None = None) -> str:
    """The text of a kernel file, which errors call ``shown``. Raises PathUnreadable."""
    refuse_unreadable(path, shown)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        what = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {error.strerror}"
        raise PathUnreadable(f"{shown or path} {what}.", "Give the path of a kernel file in UTF-8.") from error


def refuse_unreadable(path: Path, shown: str | None = None) -> None:
    """Raises PathUnreadable for what no kernel can be read from, whatever its text is."""
    if why := _unreadable(path):
        raise PathUnreadable(
            f"{shown or path} {why}.", f"Give the path of a kernel file in UTF-8, of at most {LARGEST_BYTES >> 20} MiB."
        )


def _unreadable(path: Path) -> str:
    try:
        if not path.exists():
            return "does not exist"
        if path.is_dir():
            return "is a folder"
        if not path.is_file():
            return "is not a regular file"
        return f"is larger than {LARGEST_BYTES >> 20} MiB" if path.stat().st_size > LARGEST_BYTES else ""
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"


def read_working(path: Path, shown: str | None = None) -> str:
    """The problem's own kernel file. Raises KernelMissing where it is gone, PathUnreadable otherwise."""
    if not path.exists():
        raise KernelMissing(
            f"The kernel file {shown or path} is gone.",
            "Call revert_to_best to put the best kernel back, or write the file.",
        )
    return read(path, shown)
