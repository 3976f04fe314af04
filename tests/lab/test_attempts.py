from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pytest
from attempt_taker import NOW, take_many

from nki_anvil.backends.errors import AttemptUnknown, StateDamaged
from nki_anvil.lab import seals
from nki_anvil.lab.attempts import Attempts
from nki_anvil.lab.digest import digest


def test_attempts_of_several_processes_get_distinct_numbers_and_one_text_stays_one_attempt(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    workers = [
        context.Process(target=take_many, args=(str(tmp_path), str(tmp_path / "data"), 10 * i, barrier))
        for i in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    seals.keep(tmp_path.parent, tmp_path / "data")
    attempts = Attempts(tmp_path).all()
    assert [attempt.number for attempt in attempts] == list(range(50))
    assert len({attempt.digest for attempt in attempts}) == 50
    assert all(digest(attempt.text()) == attempt.digest for attempt in attempts)
    assert not list(tmp_path.glob(".new-*"))


def test_the_text_is_stored_as_it_came_and_the_same_kernel_with_other_white_space_is_the_same_attempt(
    tmp_path: Path,
) -> None:
    attempts = Attempts(tmp_path)
    first, is_new = attempts.take("a  \r\nb\n\n", at=NOW, plan="try")
    again, is_new_again = attempts.take("a\nb", at=NOW, plan="other")
    assert (is_new, is_new_again, first.number, again.number) == (True, False, 0, 0)
    assert (first.folder / "kernel.py").read_bytes() == b"a  \r\nb\n\n"
    assert again.lineage.plan == "try"


def test_comments_make_a_different_attempt(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    attempts.take("a\n", at=NOW)
    assert attempts.take("a  # fast\n", at=NOW)[0].number == 1


def test_a_digest_is_accepted_from_eight_characters(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    taken, _ = attempts.take("a\n", at=NOW)
    assert attempts.named(taken.digest[:8]).number == 0
    for wrong in (taken.digest[:7], "0" * 8):
        with pytest.raises(AttemptUnknown):
            attempts.named(wrong)


def test_an_unknown_number_says_which_there_are(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    with pytest.raises(AttemptUnknown, match="none yet"):
        attempts.get(0)
    attempts.take("a\n", at=NOW)
    with pytest.raises(AttemptUnknown, match="0 to 0"):
        attempts.get(1)


def test_a_half_made_folder_left_by_a_crash_is_no_attempt(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path)
    attempts.take("a\n", at=NOW)
    (tmp_path / ".new-crashed").mkdir()
    assert Attempts(tmp_path).take("b\n", at=NOW)[0].number == 1


def test_a_damaged_lineage_is_named(tmp_path: Path) -> None:
    taken, _ = Attempts(tmp_path).take("a\n", at=NOW)
    (taken.folder / "lineage.json").write_text("{")
    with pytest.raises(StateDamaged, match=r"0000/lineage\.json"):
        Attempts(tmp_path).all()


def test_numbers_begun_anew_by_another_process_are_those_of_the_new_texts(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "attempts")
    old, _ = attempts.take("a\n", at=NOW)
    attempts.take("b\n", at=NOW)
    shutil.rmtree(tmp_path / "attempts")
    seals.begin_anew(tmp_path)
    Attempts(tmp_path / "attempts").take("c\n", at=NOW)
    Attempts(tmp_path / "attempts").take("d\n", at=NOW)
    assert attempts.of(old.digest) is None
    assert [attempt.text() for attempt in attempts.all()] == ["c\n", "d\n"]
    assert attempts.take("a\n", at=NOW)[0].number == 2


def test_the_number_of_an_attempt_that_was_removed_is_never_given_again(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "attempts")
    attempts.take("a\n", at=NOW)
    removed, _ = attempts.take("b\n", at=NOW)
    removed.folder.rename(tmp_path / "aside")
    for looking in (attempts, Attempts(tmp_path / "attempts")):
        looking.take("c\n", at=NOW)
        assert [(attempt.number, attempt.text()) for attempt in looking.all()] == [(0, "a\n"), (2, "c\n")]
        assert looking.of(removed.digest) is looking.find(1) is None
    (tmp_path / "aside").rename(removed.folder)
    assert [attempt.number for attempt in attempts.all()] == [0, 1, 2]
    assert attempts.take("b\n", at=NOW) == (removed, False)


def test_a_text_whose_attempt_was_removed_is_taken_anew_and_no_other_is_forgotten(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "attempts")
    removed, kept = attempts.take("a\n", at=NOW)[0], attempts.take("b\n", at=NOW)[0]
    shutil.rmtree(removed.folder)
    again, new = attempts.take("a\n", at=NOW)
    assert (again.number, new) == (2, True)
    assert attempts.of(kept.digest) == kept
    assert [attempt.number for attempt in attempts.all()] == [1, 2]


def test_a_text_whose_attempt_was_put_back_after_it_was_taken_again_is_the_later_one(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "attempts")
    removed, _ = attempts.take("a\n", at=NOW)
    removed.folder.rename(tmp_path / "aside")
    attempts.take("a\n", at=NOW)
    (tmp_path / "aside").rename(removed.folder)
    for looking in (attempts, Attempts(tmp_path / "attempts")):
        assert looking.take("a\n", at=NOW)[0].number == looking.named(removed.digest[:8]).number == 1


def test_attempts_that_were_removed_are_unknown(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "attempts")
    attempts.take("a\n", at=NOW)
    shutil.rmtree(tmp_path / "attempts")
    with pytest.raises(AttemptUnknown, match="Attempt 0 is gone"):
        attempts.get(0)
