import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.backends.worker import arrays
from nki_anvil.backends.worker.arrays import DamagedArrays

KEY = "case/0"


def stored(path: Path, array: np.ndarray) -> Path:
    with arrays.open_to_write(path) as archive:
        arrays.write(archive, KEY, array)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3])
def test_an_array_of_every_format_comes_back_bit_for_bit(tmp_path: Path, dtype: type) -> None:
    array = np.arange(-8, 8).astype(dtype).reshape(4, 4)
    with arrays.open_to_read(stored(tmp_path / "a.npz", array), 1 << 20) as archive:
        back = arrays.read(archive, KEY, array.dtype)
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()


def test_an_array_of_another_format_than_expected_is_damage(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.npz", np.zeros(4, np.float32))
    with arrays.open_to_read(path, 1 << 20) as archive:
        for wrong in (np.dtype(np.int32), np.dtype(np.float16)):
            with pytest.raises(DamagedArrays, match="not"):
                arrays.read(archive, KEY, wrong)


def test_a_missing_array_is_damage(tmp_path: Path) -> None:
    with (
        arrays.open_to_read(stored(tmp_path / "a.npz", np.zeros(4)), 1 << 20) as archive,
        pytest.raises(DamagedArrays, match="other/0"),
    ):
        arrays.read(archive, "other/0", np.dtype(np.float64))


def test_pickled_objects_are_never_read(tmp_path: Path) -> None:
    objects = {KEY: np.array([{}], dtype=object)}
    np.savez(tmp_path / "a.npz", allow_pickle=True, **objects)
    with (
        arrays.open_to_read(tmp_path / "a.npz", 1 << 20) as archive,
        pytest.raises(DamagedArrays, match="cannot be read"),
    ):
        arrays.read(archive, KEY, np.dtype(np.float32))


def test_an_archive_that_could_unfold_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{KEY}.npy", bytes(1 << 20))
    with pytest.raises(DamagedArrays, match="compressed"):
        arrays.open_to_read(tmp_path / "a.npz", 1 << 30)


def test_an_archive_larger_than_allowed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedArrays, match="more than 100 bytes"):
        arrays.open_to_read(stored(tmp_path / "a.npz", np.zeros(100)), 100)


def test_a_truncated_archive_is_damage(tmp_path: Path) -> None:
    path = stored(tmp_path / "a.npz", np.zeros(100))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedArrays, match="no archive"):
        arrays.open_to_read(path, 1 << 20)
