"""Arrays in ``.npz`` files, stored plainly and without pickling, also those that NumPy cannot name (bfloat16)."""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.again import again

EXACT = "exact"
"""Between a case's key and a position: outputs with every float in float64."""


class DamagedArrays(ValueError):
    """The file is no plain archive of arrays, or is larger than allowed."""


def write(archive: zipfile.ZipFile, key: str, array: NDArray[Any]) -> None:
    """Add one array under ``key``."""
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind == "V" or not plain.dtype.isbuiltin:
        plain = plain.view(f"u{plain.dtype.itemsize}")
    with archive.open(f"{key}.npy", "w", force_zip64=True) as stream:
        np.lib.format.write_array(stream, plain, allow_pickle=False)


def read(archive: zipfile.ZipFile, key: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """One array, seen as ``dtype`` again; raises DamagedArrays where it is missing or of another width."""
    try:
        array = again(_entry, archive, f"{key}.npy")
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedArrays(f"the array {key} cannot be read: {error}") from error
    if array.dtype.itemsize != dtype.itemsize or array.dtype.kind not in ("u", dtype.kind):
        raise DamagedArrays(f"the array {key} is {array.dtype}, not {dtype}")
    return array if array.dtype == dtype else array.view(dtype)


def read_all(path: Any) -> dict[str, NDArray[Any]]:
    """Every array of a small archive of our own by its key; raises OSError or ValueError for a file that is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name[: -len(".npy")]: again(_entry, archive, name) for name in archive.namelist()}
    except (EOFError, zipfile.BadZipFile) as error:
        raise DamagedArrays(f"{path} is no archive of arrays: {error}") from error


def open_to_read(path: Any, limit: int) -> zipfile.ZipFile:
    """Open an archive of at most ``limit`` bytes of plainly stored arrays; raises DamagedArrays."""
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise DamagedArrays(f"{path} is no archive of arrays: {error}") from error
    entries = archive.infolist()
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        archive.close()
        raise DamagedArrays(f"{path} holds compressed arrays")
    if sum(entry.file_size for entry in entries) > limit:
        archive.close()
        raise DamagedArrays(f"{path} holds more than {limit} bytes")
    return archive


def open_to_write(path: Any) -> zipfile.ZipFile:
    """Open a new archive, stored without compression."""
    return zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True)


def _entry(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read whole: NumPy itself copies an archive's member piece by piece."""
    stream = io.BytesIO(archive.read(name))
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, turned, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError(f"{name} holds objects")
    items = np.frombuffer(stream.getbuffer(), dtype, math.prod(shape), stream.tell())
    return items.reshape(shape, order="F" if turned else "C")
