import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.worker.answer import Malformed, pack, unpack

NONCE = "0123456789abcdef" * 2
GOOD = pack(NONCE, "kernel", ["line 1: import torch"], None, b"program")


def test_an_answer_comes_back_as_it_was_packed() -> None:
    found = unpack(GOOD, NONCE)
    assert (found.entry, found.left_out, found.error, found.program) == (
        "kernel",
        ["line 1: import torch"],
        None,
        b"program",
    )


@given(position=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255))
def test_no_changed_byte_outside_the_program_can_change_another_field_unnoticed(position: int, byte: int) -> None:
    changed = GOOD[:position] + bytes([byte]) + GOOD[position + 1 :]
    try:
        found = unpack(changed, NONCE)
    except Malformed:
        return
    assert len(found.program) == len(b"program")
    assert found.error is None or found.error["code"] != ""


@given(cut=st.integers(0, len(GOOD) - 1))
def test_a_truncated_answer_is_malformed(cut: int) -> None:
    with pytest.raises(Malformed):
        unpack(GOOD[:cut], NONCE)


@given(more=st.binary(min_size=1, max_size=8))
def test_bytes_after_the_answer_make_it_malformed(more: bytes) -> None:
    with pytest.raises(Malformed):
        unpack(GOOD + more, NONCE)


def test_another_nonce_is_malformed() -> None:
    with pytest.raises(Malformed, match="nonce"):
        unpack(GOOD, "f" * 32)


@pytest.mark.parametrize(
    "header",
    [
        [],
        {"entry": 5, "left_out": [], "error": None},
        {"entry": None, "left_out": [5], "error": None},
        {"entry": None, "left_out": {"a": 1}.__len__(), "error": None},
        {"entry": None, "left_out": [], "error": "text"},
        {"entry": None, "left_out": [], "error": {"line": "7"}},
        {"entry": None, "left_out": []},
    ],
)
def test_a_header_of_another_form_is_malformed(header: object) -> None:
    text = json.dumps(header).encode()
    with pytest.raises(Malformed):
        unpack(NONCE.encode() + len(text).to_bytes(8, "little") + bytes(8) + text, NONCE)


def test_an_error_is_capped_field_by_field() -> None:
    error = {"code": "X", "message": "m" * 10_000, "line": 3, "text": "", "remedy": ""}
    found = unpack(pack(NONCE, None, [], error, b""), NONCE)
    assert found.error is not None
    assert len(found.error["message"]) == 2000


@pytest.mark.parametrize("line", [0, -1, 1 << 31, 10**400])
def test_a_line_that_no_text_has_is_none(line: int) -> None:
    found = unpack(pack(NONCE, None, [], {"code": "X", "line": line}, b""), NONCE)
    assert found.error is not None
    assert found.error["line"] is None
