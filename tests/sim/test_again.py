from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nki_anvil.backends.worker import arrays
from nki_anvil.sim.again import TRIES, again


def failing(times: int) -> Any:
    failures = iter(range(times))

    def work(*given: Any, **named: Any) -> tuple[Any, ...]:
        if next(failures, None) is not None:
            raise SystemError("AST constructor recursion depth mismatch (before=60, after=63)")
        return given

    return work


def test_what_the_interpreter_failed_at_is_done_again() -> None:
    assert again(failing(TRIES - 1), 1, 2) == (1, 2)


def test_what_always_fails_is_told() -> None:
    with pytest.raises(SystemError):
        again(failing(TRIES))


def test_an_array_is_read_though_another_thread_parsed_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"a": np.arange(6.0).reshape(2, 3)}
    np.savez(tmp_path / "a.npz", **kept)  # type: ignore[arg-type]
    reading, disturbed = np.lib.format.read_array, failing(1)

    def read(*given: Any, **named: Any) -> Any:
        disturbed()
        return reading(*given, **named)

    monkeypatch.setattr(np.lib.format, "read_array", read)
    assert np.array_equal(arrays.read_all(tmp_path / "a.npz")["a"], kept["a"])


def test_a_file_that_is_no_archive_is_damage(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("nonsense")
    with pytest.raises(arrays.DamagedArrays, match="no archive"):
        arrays.read_all(tmp_path / "a.npz")
