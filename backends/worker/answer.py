"""What a kernel process gives back: the nonce when it is ready, then nonce, header and program.

It is written by a process that ran hostile text, so reading it believes nothing: wrong tag, wrong length, a byte too
many or a header of another form is a malformed answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional

NONCE_BYTES = 32
"""Hexadecimal characters."""
HEADER_BYTES = 256 << 10
"""Largest header: entry, left-out statements and an error with its line."""
_FIXED = NONCE_BYTES + 16
_TEXT = 2000
_LINES = 1 << 31


class Malformed(ValueError):
    """The bytes are not an answer to the question that was asked."""


@dataclass(frozen=True)
class Answer:
    """``program`` is empty where ``error`` says why there is none."""

    entry: Optional[str]
    left_out: list[str]
    error: Optional[dict[str, Any]]
    program: bytes


def pack(
    nonce: str, entry: Optional[str], left_out: list[str], error: Optional[dict[str, Any]], program: bytes
) -> bytes:
    """The message as bytes."""
    header = json.dumps({"entry": entry, "left_out": left_out, "error": error}).encode()
    lengths = len(header).to_bytes(8, "little") + len(program).to_bytes(8, "little")
    return nonce.encode() + lengths + header + program


def started(data: bytes, nonce: str) -> bool:
    """Whether the process came so far as to touch kernel text."""
    return data[:NONCE_BYTES] == nonce.encode()


def largest(program_bytes: int) -> int:
    """Bytes after which a reader may stop listening."""
    return NONCE_BYTES + _FIXED + HEADER_BYTES + program_bytes


def unpack(data: bytes, nonce: str) -> Answer:
    """Read everything that came after the first nonce; raises Malformed."""
    if len(data) < _FIXED or data[:NONCE_BYTES] != nonce.encode():
        raise Malformed("what came over the answer channel does not carry the nonce")
    header_bytes = int.from_bytes(data[NONCE_BYTES : NONCE_BYTES + 8], "little")
    program_bytes = int.from_bytes(data[NONCE_BYTES + 8 : _FIXED], "little")
    if header_bytes > HEADER_BYTES or len(data) != _FIXED + header_bytes + program_bytes:
        raise Malformed("the answer is not as long as it says")
    try:
        header = json.loads(data[_FIXED : _FIXED + header_bytes])
        return _checked(header, data[_FIXED + header_bytes :])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Malformed(f"the answer's header cannot be read: {error}") from error


def _checked(header: dict[str, Any], program: bytes) -> Answer:
    entry, left_out, error = header["entry"], header["left_out"], header["error"]
    if not isinstance(entry, (str, type(None))) or not all(isinstance(line, str) for line in left_out):
        raise Malformed("the answer's header has a field of the wrong kind")
    left_out = [_short(line) for line in left_out[:100]]
    return Answer(entry and _short(entry), left_out, None if error is None else _kernel_error(error), program)


def _short(text: str) -> str:
    return text[:_TEXT]


def _kernel_error(given: Any) -> dict[str, Any]:
    """A KernelError as plain JSON with every field of its kind and capped."""
    record = dict(given)
    line = record.get("line")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool)):
        raise Malformed("an error's line is not a number")
    if line is not None and not 0 < line < _LINES:
        line = None
    texts = {name: _short(str(record.get(name, ""))) for name in ("code", "message", "text", "remedy")}
    return {**texts, "line": line}
