"""A reference reads its files in any of the ways in which people read files, and what it reads is what was hashed."""

from __future__ import annotations

import _ctypes
import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nki_anvil.backends.backend import silent
from nki_anvil.backends.errors import PathUnwritable, ProblemInvalid
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.loading import load
from nki_anvil.lab.specification import Specification

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("few_cases")]

HEAD = "import os, pathlib\nimport numpy as np\nHERE = pathlib.Path(__file__).parent\n"
TAIL = """

def get_inputs():
    return [np.random.normal(size=(8, 8)).astype(np.float32)]

def forward(x):
    return x * np.float32(SCALE)
"""

READS = {
    "np.loadtxt": "SCALE = np.loadtxt(HERE / 'scale.txt')",
    "np.genfromtxt": "SCALE = np.genfromtxt(HERE / 'scale.txt')",
    "a class that holds open": (
        "class Reader:\n    opener = open\nSCALE = float(Reader().opener(HERE / 'scale.txt').read())"
    ),
    "a file beside one that is open": (
        "LIST = open(HERE / 'list.txt')\n"
        "SCALE = float((pathlib.Path(LIST.name).parent / LIST.read().strip()).read_text())"
    ),
    "a database's address": (
        "import sqlite3\nDATA = sqlite3.connect(f'file:{HERE}/scale.db?mode=ro', uri=True)\n"
        "[SCALE] = DATA.execute('select scale from t').fetchone()"
    ),
    "a folder that is open": (
        "FOLDER = os.open(HERE, os.O_RDONLY)\n"
        "SCALE = float(os.read(os.open('scale.txt', os.O_RDONLY, dir_fd=FOLDER), 9))"
    ),
    "a link to a folder of bytecode": "SCALE = np.load(HERE / 'linked.npy')",
}


def laid(folder: Path) -> None:
    """Two, in every form."""
    (folder / "scale.txt").write_text("2.0")
    (folder / "list.txt").write_text("scale.txt\n")
    with contextlib.closing(sqlite3.connect(folder / "scale.db")) as data, data:
        data.execute("create table t (scale)")
        data.execute("insert into t values (2.0)")
    (folder / "__pycache__").mkdir()
    np.save(folder / "__pycache__" / "kept.npy", np.float32(2))
    (folder / "linked.npy").symlink_to("__pycache__/kept.npy")


def written(folder: Path, code: str) -> Path:
    path = folder / "reference.py"
    path.write_text(f"{HEAD}{code}\n{TAIL}")
    return path


def there(found: Specification) -> set[str]:
    return {Path(path).name for path, digest in found.reference_beside.items() if digest}


async def prepared(found: Specification, data: Path) -> None:
    await Pool(found, data).prepare(np.random.default_rng(1), silent)


@pytest.mark.parametrize("way", READS)
async def test_a_file_is_read_and_pinned_in_whatever_way_it_is_opened(tmp_path: Path, way: str) -> None:
    laid(tmp_path)
    found = await load(written(tmp_path, READS[way]))
    assert there(found) & {"scale.txt", "scale.db", "linked.npy"}
    await prepared(found, tmp_path / "data")


WRITES = {
    "a log": "import logging\nlogging.basicConfig(filename=HERE / 'log', level=20)\nlogging.info('begun')",
    "what is added to": "open(HERE / 'log', 'a').write('begun')",
    "a lock": "LOCK = open(HERE / 'lock', 'a+')",
    "a file that it moves": (
        "P = HERE / 'table'\n(HERE / 'new').write_text('2.0')\n(HERE / 'new').replace(P)\nassert P.read_text() == '2.0'"
    ),
    "a file that it links": (
        "(HERE / 'table').write_text('2.0')\n(HERE / 'other').unlink(missing_ok=True)\n"
        "os.link(HERE / 'table', HERE / 'other')\nassert (HERE / 'other').read_text() == '2.0'\n"
        "(HERE / 'soft').unlink(missing_ok=True)\n(HERE / 'soft').symlink_to('table')\n(HERE / 'soft').read_text()"
    ),
    "a folder of its own": (
        "import tempfile\nwith tempfile.TemporaryDirectory() as own:\n"
        "    assert not os.path.exists(own + '/no')\n    open(own + '/a', 'w').write('1')\n    open(own + '/a').read()"
    ),
}


async def test_what_stands_where_caches_do_and_is_none_of_a_module_is_a_file_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "gain.nbi").write_text("2.0")
    found = await load(written(tmp_path, "SCALE = float(open(HERE / '__pycache__' / 'gain.nbi').read())"))
    assert there(found) == {"gain.nbi"}


@pytest.mark.parametrize("what", WRITES)
async def test_what_a_reference_writes_is_no_part_of_its_problem(tmp_path: Path, what: str) -> None:
    path = written(tmp_path, f"{WRITES[what]}\nSCALE = 2.0")
    found = await load(path)
    assert found.reference_beside == {}
    await prepared(found, tmp_path / "data")
    assert (await load(path)).version == found.version


async def test_what_is_missing_in_a_folder_that_was_there_is_part_of_the_problem(tmp_path: Path) -> None:
    code = "HERE.mkdir(exist_ok=True)\nSCALE = 3.0 if (HERE / 'scale.txt').exists() else 2.0"
    found = await load(written(tmp_path, code))
    assert found.reference_beside == {str(tmp_path / "scale.txt"): ""}


async def test_a_class_of_data_may_be_defined(tmp_path: Path) -> None:
    code = "from dataclasses import dataclass\n@dataclass\nclass Settings:\n    scale: 'float' = 2.0\n"
    assert (await load(written(tmp_path, f"{code}SCALE = Settings().scale"))).outputs


LOOKED_FOR: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "a folder in a file's place": (
        "try:\n    SCALE = float((HERE / 'scale.txt').read_text())\nexcept OSError:\n    SCALE = 3.0",
        "scale.txt",
        lambda folder: (folder / "scale.txt").mkdir(),
    ),
    "a mere folder in a module's place": (
        "try:\n    from settings import SCALE\nexcept ImportError:\n    SCALE = 3.0",
        "settings.py",
        lambda folder: (folder / "settings").mkdir(),
    ),
    "a module where a package would come first": (
        "from settings import SCALE",
        "settings/__init__.py",
        lambda folder: (folder / "settings.py").write_text("SCALE = 3.0\n"),
    ),
    "a module where another folder would come first": (
        "import sys\nsys.path.insert(0, str(HERE / 'first'))\nfrom settings import SCALE",
        "first/settings.py",
        lambda folder: (folder / "settings.py").write_text("SCALE = 3.0\n"),
    ),
}


@pytest.mark.parametrize("what", LOOKED_FOR)
async def test_what_would_stand_in_the_place_of_what_was_found_is_part_of_the_problem(
    tmp_path: Path, what: str
) -> None:
    code, forestalled, lay = LOOKED_FOR[what]
    lay(tmp_path)
    found = await load(written(tmp_path, code))
    assert found.reference_beside[str(tmp_path / forestalled)] == ("folder" if "file's" in what else "")
    await prepared(found, tmp_path / "data")


async def test_what_a_reference_computed_once_and_keeps_is_part_of_its_problem(tmp_path: Path) -> None:
    kept = "P = HERE / 'kept.npy'\nif not P.exists():\n    np.save(P, np.float32(2))\nSCALE = float(np.load(P))"
    path = written(tmp_path, kept)
    found = await load(path)
    assert there(found) == {"kept.npy"}
    await prepared(found, tmp_path / "data")
    assert (await load(path)).version == found.version


APPEARING = {
    "asked for": "SCALE = 3.0 if (HERE / 'settings').exists() else 2.0",
    "asked for as a folder": "SCALE = 3.0 if os.path.isdir(HERE / 'settings') else 2.0",
    "imported": "try:\n    import settings\n    SCALE = 3.0\nexcept ImportError:\n    SCALE = 2.0",
}


@pytest.mark.parametrize("how", APPEARING)
async def test_a_folder_that_was_looked_for_and_appears_is_a_problem_that_changed(tmp_path: Path, how: str) -> None:
    found = await load(written(tmp_path, APPEARING[how]))
    await prepared(found, tmp_path / "data")
    (tmp_path / "settings").mkdir()
    assert fingerprint(tmp_path / "settings") != found.reference_beside[str(tmp_path / "settings")]
    with pytest.raises(ProblemInvalid, match="settings, which the reference reads, changed"):
        await prepared(found, tmp_path / "more")


@pytest.mark.parametrize("how", ["a mark of its order of bytes", "another coding"])
async def test_a_reference_is_read_as_python_reads_it(tmp_path: Path, how: str) -> None:
    path = written(tmp_path, "SCALE = 2.0  # \xe9")
    text = path.read_text()
    coded = how == "another coding"
    path.write_bytes(("# -*- coding: latin-1 -*-\n" + text).encode("latin-1") if coded else text.encode("utf-8-sig"))
    await prepared(await load(path), tmp_path / "data")


ODD = {
    "a link to itself": "(HERE / 'odd').symlink_to('odd') if not os.path.lexists(HERE / 'odd') else None\nNAME = 'odd'",
    "a name that is too long": "NAME = 'a' * 300",
}


@pytest.mark.parametrize("what", ODD)
async def test_what_no_system_opens_is_an_error_of_the_reference_alone(tmp_path: Path, what: str) -> None:
    code = f"{ODD[what]}\ntry:\n    SCALE = float(open(HERE / NAME).read())\nexcept OSError:\n    SCALE = 2.0"
    await prepared(await load(written(tmp_path, code)), tmp_path / "data")


async def test_a_file_whose_name_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    tmp_path.joinpath(os.fsdecode(b"odd\xff")).write_text("2.0")
    code = "SCALE = float(open(os.fsencode(HERE) + b'/odd\\xff').read())"
    with pytest.raises(ProblemInvalid, match=r"odd\\udcff', whose name is no text"):
        await load(written(tmp_path, code))


async def test_a_folder_that_a_reference_lays_itself_is_no_part_of_its_problem(tmp_path: Path) -> None:
    code = "if not (HERE / 'own').exists():\n    (HERE / 'own').mkdir()\nSCALE = 2.0"
    found = await load(written(tmp_path, code))
    assert found.reference_beside == {}
    await prepared(found, tmp_path / "data")


async def test_a_compiled_module_is_loaded_where_it_lies_if_it_is_what_was_hashed(tmp_path: Path) -> None:
    shared = tmp_path / "ours.so"
    shutil.copy(_ctypes.__file__, shared)
    loading = f"import ctypes\nLIBRARY = ctypes.CDLL(str(HERE / {shared.name!r}))\nSCALE = 2.0"
    found = await load(written(tmp_path, loading))
    assert there(found) == {"ours.so"}
    await prepared(found, tmp_path / "data")
    shared.write_bytes(shared.read_bytes() + b"\0")
    with pytest.raises(ProblemInvalid, match=r"ours\.so, which the reference reads, changed"):
        await prepared(found, tmp_path / "more")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system has no shared memory in its file system")
async def test_copies_may_lie_where_people_put_data_into_the_system(tmp_path: Path) -> None:
    laid(tmp_path)
    found = await load(written(tmp_path, "SCALE = np.loadtxt(HERE / 'scale.txt')"))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as data:
        await prepared(found, Path(data))


async def test_a_full_disk_is_no_fault_of_the_reference(tmp_path: Path) -> None:
    code = "def full(*_, **__):\n    raise OSError(28, os.strerror(28))\nSCALE = 2.0\nnp.savez = full"
    found = await load(written(tmp_path, code))
    with pytest.raises(PathUnwritable, match=r"No space is left in .* for what reference\.py computes\. Free some"):
        await prepared(found, tmp_path / "data")
