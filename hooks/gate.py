"""Claude Code hooks: a reminder before the end of a turn while a kernel is neither verified nor best.

It only compares each open problem's file, and what the problem rests on, with the server's record
(``.nki-anvil/verified.json``); the server is the gate. Standard library only, Python 3.9 or later. It never breaks a
session: what goes wrong is said on stderr, and the session goes on.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast

RECORD = Path(".nki-anvil") / "verified.json"
LONGEST_READ = 1 << 17
LARGEST_SOURCE = 1 << 20
"""Bytes; what a problem rests on beyond that, as weights are, is not read at every turn."""
NAMED_BY = ("NKI_ANVIL_WORKSPACE", "CLAUDE_PLUGIN_OPTION_WORKSPACE", "CLAUDE_PROJECT_DIR")


def digest(text: str) -> str:
    """As the server computes it."""
    return hashlib.sha256(_normalise(text).encode("utf-8", "surrogatepass")).hexdigest()


def _normalise(text: str) -> str:
    """LF at line ends, no final newlines, no trailing white space where it means nothing."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if plain.endswith("\\") and not _alike(plain, text):
        return text
    bare = "\n".join(line.rstrip() for line in plain.split("\n")).rstrip("\n")
    return bare if bare == plain or _alike(bare, plain) else plain


def _alike(bare: str, plain: str) -> bool:
    """Whether nothing was cut off that stands in a text or after a backslash; or Python can read neither.

    A text of a length that nobody writes is not read: that could take seconds.
    """
    if len(plain) > LONGEST_READ:
        return False
    try:
        tree, other = _tree(bare), _tree(plain)
    except (RecursionError, MemoryError):
        return False
    if tree is None or other is None:
        return tree is other
    lines = enumerate(zip(bare.split("\n"), plain.split("\n")), 1)  # noqa: B905
    cut = {number for number, (less, more) in lines if less != more}
    return cut.isdisjoint(_spanned(tree))


def _spanned(tree: ast.Module) -> Iterator[int]:
    """The lines whose end stands in a text."""
    import ast

    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            yield from range(node.lineno, node.end_lineno or node.lineno)


def _tree(text: str) -> ast.Module | None:
    import ast  # a hook runs at every turn, and hardly a kernel needs it

    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def workspace(event: dict[str, Any]) -> Path | None:
    """The folder that has a record; None where no problem was ever opened."""
    named = [os.environ.get(name) for name in NAMED_BY] + [event.get("cwd")]
    folders = [Path(name).expanduser() for name in named if name]
    return next((folder for folder in folders if (folder / RECORD).is_file()), None)


def unverified(folder: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Problems whose working file, or one that was it before, is neither verified nor best, each with that file."""
    for name, known in _problems(folder).items():
        for path in (Path(file) for file in (known["kernel"], *known.get("earlier", ()))):
            if path.is_file() and _text_digest(path) not in {*known["passed"], *known["best"]}:
                yield name, path, known


def _text_digest(path: Path) -> str:
    return digest(path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))


def removed(folder: Path, event: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """Open problems of this very session whose working file is gone: another's may have been tidied away."""
    for name, known in _problems(folder).items():
        path, still_open = Path(known["kernel"]), known.get("open", True)
        if still_open and not path.is_file() and event.get("session_id") in known.get("sessions", ()):
            yield name, path


def outdated(folder: Path, event: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """Problems that rest on a file that changed, each with that file, unless one was opened with it as it is now."""
    problems = _problems(folder)
    for name, known in problems.items():
        for path, fingerprint in known.get("sources", {}).items() if concerns(known, event) else ():
            now = _fingerprint(Path(path))
            opened = (other.get("sources", {}).get(path) for other in problems.values())
            if now not in (None, fingerprint) and now not in opened:
                yield name, Path(path)
                break


@functools.lru_cache(maxsize=1)
def _problems(folder: Path) -> dict[str, Any]:
    problems = json.loads((folder / RECORD).read_text(encoding="utf-8"))["problems"]
    sound = {name: known for name, known in problems.items() if _sound(known)}
    if len(sound) < len(problems):
        sys.stderr.write(f"nki-anvil: {RECORD} is damaged at {', '.join(sorted(problems.keys() - sound.keys()))}\n")
    return sound


def _sound(known: Any) -> bool:
    """Whether an entry is one: one that is damaged must not silence what there is to say of the others."""
    kinds = {"kernel": str, "passed": list, "best": list, "earlier": list, "sources": dict, "sessions": list}
    needed = {"kernel", "passed", "best"}
    return (
        isinstance(known, dict)
        and known.keys() >= needed
        and all(isinstance(known[name], kind) for name, kind in kinds.items() if name in known)
    )


def _fingerprint(path: Path) -> str | None:
    """As the server's: SHA-256, or what else stands there; None where it is too large."""
    try:
        if not path.is_file():
            return "folder" if path.is_dir() else "unreadable" if path.exists() else ""
        if path.stat().st_size > LARGEST_SOURCE:
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def concerns(known: dict[str, Any], event: dict[str, Any]) -> bool:
    """Whether this session worked on the problem, as far as is known: another's edits are the other's to verify.

    A finished problem is left alone but by a session that surely worked on it: what it changes afterwards was not
    measured.
    """
    sessions, own = known.get("sessions", ()), event.get("session_id")
    if own and own in sessions:
        return True
    return known.get("open", True) and (not own or not sessions or "" in sessions)


def stop(event: dict[str, Any]) -> dict[str, Any] | None:
    """Asks once to verify or revert; says nothing while an MCP call still runs in the background."""
    folder = workspace(event)
    if folder is None or event.get("stop_hook_active") or _busy(event):
        return None
    reasons = (_unverified(folder, event), _removed(folder, event), _outdated(folder, event))
    reason = " ".join(filter(None, reasons))
    if not reason:
        return None
    return {"decision": "block", "reason": reason}


def _unverified(folder: Path, event: dict[str, Any]) -> str:
    found = [(name, path, known) for name, path, known in unverified(folder) if concerns(known, event)]
    if not found:
        return ""
    files = " and ".join(f"{_shown(path, folder)} (problem {name})" for name, path, _ in found)
    name, path, known = found[0]
    if path != Path(known["kernel"]):
        asks = f"verify_kernel(problem={name!r}, kernel_path={_shown(path, folder)!r})"
        return f"{files} changed and is neither verified nor best. Call {asks}; or tell the user that it is unverified."
    return (
        f"{files} changed and is neither verified nor best. Call verify_kernel(problem={name!r}), and "
        f"benchmark_kernel if it passes, or revert_to_best(problem={name!r}); or tell the user that it is unverified."
    )


def _removed(folder: Path, event: dict[str, Any]) -> str:
    return " ".join(
        f"{_shown(path, folder)} (problem {name}) is gone. Call revert_to_best(problem={name!r}), or tell the user."
        for name, path in removed(folder, event)
    )


def _outdated(folder: Path, event: dict[str, Any]) -> str:
    return " ".join(
        f"{_shown(path, folder)} changed after problem {name} was opened, and what was judged before rests on it. "
        f"Put it back, or open it again under a new name; or tell the user."
        for name, path in outdated(folder, event)
    )


def edited(event: dict[str, Any]) -> dict[str, Any] | None:
    """Notes that this session edited a problem's kernel and what comes next, whoever opened or finished it."""
    folder = workspace(event)
    changed = event.get("tool_input", {}).get("file_path")
    if folder is None or not changed:
        return None
    target = (Path(event.get("cwd") or folder) / changed).resolve()
    names = [name for name, path, _ in unverified(folder) if path.resolve() == target]
    if not names:
        return None
    note = f"Not verified yet: call verify_kernel(problem={names[0]!r}) before relying on this kernel."
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": note}}


def started(_event: dict[str, Any]) -> dict[str, Any] | None:
    """Says in one line what is missing where the server cannot start."""
    if shutil.which("uv"):
        return None
    return {
        "systemMessage": "nki-anvil needs uv to start its server: https://docs.astral.sh/uv/ says how to install it."
    }


def _busy(event: dict[str, Any]) -> bool:
    return any("mcp" in str(task.get("type", "")).lower() for task in event.get("background_tasks", ()))


def _shown(path: Path, folder: Path) -> str:
    try:
        return str(path.resolve().relative_to(folder.resolve()))
    except ValueError:
        return str(path)


HOOKS = {"stop": stop, "edited": edited, "started": started}


def main() -> None:
    try:
        answer = HOOKS[sys.argv[1]](json.load(sys.stdin))
    except Exception as error:  # a reminder that fails must not cost the user the session
        sys.stderr.write(f"nki-anvil: the hook could not look at the kernels ({type(error).__name__}: {error})\n")
        return
    if answer is not None:
        sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
