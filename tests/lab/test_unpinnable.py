"""What a reference reads that is no file could change unseen: it is refused, and what merely copies a file is not."""

from __future__ import annotations

import os
from collections.abc import Generator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
import pytest

from nki_anvil.backends.backend import silent
from nki_anvil.backends.errors import ProblemInvalid
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.loading import load

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not hasattr(os, "getxattr"), reason="this system's Python reads no extended attributes"),
]

HEAD = "import os, pathlib\nimport numpy as np\nHERE = pathlib.Path(__file__).parent\n"
TAIL = """

def get_inputs():
    return [np.random.normal(size=(8, 8)).astype(np.float32)]

def forward(x):
    return x * np.float32(SCALE)
"""
SHARED = "from multiprocessing.shared_memory import SharedMemory\n"


def written(folder: Path, code: str) -> Path:
    (folder / "scale.txt").write_text("2.0")
    path = folder / "reference.py"
    path.write_text(f"{HEAD}{code}\n{TAIL}")
    return path


@pytest.fixture
def shared() -> Generator[SharedMemory]:
    memory = SharedMemory(create=True, size=8)
    yield memory
    memory.close()
    memory.unlink()


def hold(shared: SharedMemory, number: float) -> None:
    assert shared.buf is not None
    shared.buf[:4] = np.float32(number).tobytes()


@pytest.mark.parametrize("after", ["", "\nexcept OSError:\n    SCALE = 2.0", "\nexcept Exception:\n    SCALE = 2.0"])
async def test_an_extended_attribute_is_refused_also_by_who_goes_on_without(tmp_path: Path, after: str) -> None:
    read = "SCALE = float(os.getxattr(HERE / 'scale.txt', 'user.scale'))"
    code = f"try:\n    {read}{after}" if after else read
    with pytest.raises(ProblemInvalid, match=r"reads the extended attribute 'user\.scale' of .*scale\.txt.* in a file"):
        await load(written(tmp_path, code))


async def test_the_names_of_extended_attributes_are_told_to_nobody(tmp_path: Path) -> None:
    with pytest.raises(ProblemInvalid, match="extended attributes are no part of a problem"):
        await load(written(tmp_path, "SCALE = len(os.listxattr(HERE / 'scale.txt'))"))


async def test_a_file_that_has_attributes_may_be_copied_with_all_that_it_has(tmp_path: Path) -> None:
    copied = "import shutil\nshutil.copy2(HERE / 'scale.txt', HERE / 'own.txt')\nSCALE = 2.0"
    path = written(tmp_path, copied)
    try:
        os.setxattr(tmp_path / "scale.txt", "user.scale", b"3.0")
    except OSError:
        pytest.skip("this file system keeps no extended attributes")
    assert (await load(path)).outputs


async def test_shared_memory_of_others_is_refused(tmp_path: Path, shared: SharedMemory) -> None:
    hold(shared, 2)
    code = f"{SHARED}M = SharedMemory({shared.name!r})\nSCALE = np.ndarray(1, np.float32, M.buf)[0]"
    with pytest.raises(ProblemInvalid, match=f"reads the shared memory /{shared.name}: no copy can stand for it"):
        await load(written(tmp_path, code))


async def test_shared_memory_of_its_own_is_a_references_own_affair(tmp_path: Path) -> None:
    code = f"{SHARED}M = SharedMemory(create=True, size=8)\nN = SharedMemory(M.name)\nN.close()\nM.close()\nM.unlink()"
    found = await load(written(tmp_path, f"{code}\nSCALE = 2.0"))
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


async def test_a_mapped_file_of_shared_memory_is_a_file_as_any_other(tmp_path: Path, shared: SharedMemory) -> None:
    hold(shared, 2)
    code = (
        f"import mmap\nHANDLE = os.open('/dev/shm/{shared.name}', os.O_RDONLY)\n"
        "SCALE = np.frombuffer(mmap.mmap(HANDLE, 4, prot=mmap.PROT_READ), np.float32)[0]"
    )
    found = await load(written(tmp_path, code))
    assert f"/dev/shm/{shared.name}" in found.reference_beside
    hold(shared, 3)
    with pytest.raises(ProblemInvalid, match=f"{shared.name}, which the reference reads, changed"):
        await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)
