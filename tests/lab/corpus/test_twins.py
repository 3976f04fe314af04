"""Our simulator beside the vendor's, for which a small package of the same name stands in."""

import os
import sys
from pathlib import Path

import pytest

from nki_anvil.backends.errors import ArgumentsInvalid, SdkMissing
from nki_anvil.lab.corpus.twins import compare

STAND_IN = {
    "__init__.py": """
import numpy as np

__version__ = "0.7.stand-in"


def jit(fn):
    return fn


class Recorder:
    shape, dtype = None, None


def simulate(kernel):
    from nki import isa

    def run(*args):
        isa.FACTOR = {factor}
        return kernel(*args)

    return run
""",
    "language.py": """
import numpy as np

shared_hbm = sbuf = None
add = np.add


def ndarray(shape, dtype, buffer=None):
    return np.zeros(shape, dtype)
""",
    "isa.py": """
FACTOR = 1.0


def dma_copy(dst, src):
    dst[...] = src


def tensor_tensor(dst, data1, data2, op):
    dst[...] = op(data1, data2) * FACTOR
""",
}


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a stand-in whose sums are off by a factor."""

    def install(factor: float = 1.0) -> None:
        package = tmp_path / "site" / "nki"
        package.mkdir(parents=True, exist_ok=True)
        for name, text in STAND_IN.items():
            (package / name).write_text(text.replace("{factor}", str(factor)))
        monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path / "site"))

    return install


@pytest.fixture
def file(tmp_path: Path, adding: str, stated: str) -> Path:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "corpus.toml").write_text(stated)
    path = tmp_path / "kernels" / "adding.py"
    path.write_text(adding)
    return path


def test_equal_outputs_agree_and_the_vendors_version_is_said(file: Path, vendor):
    vendor()
    found = compare(file)
    assert found
    assert found.vendor_version == "0.7.stand-in"
    assert found.kernels[0].relative_error == 0
    assert "agrees" in str(found)


def test_other_outputs_differ_by_as_much_as_they_do(file: Path, vendor):
    vendor(factor=1.25)
    found = compare(file)
    assert not found
    assert found.kernels[0].relative_error == pytest.approx(0.2)
    assert "DIFFERS" in str(found)


def test_what_only_ours_refuses_differs_with_the_reason(file: Path, vendor):
    vendor()
    statement = file.parent / "corpus.toml"
    statement.write_text(statement.read_text().replace("64", "200"))
    twin = compare(file).kernels[0]
    assert not twin.agree
    assert "TRN2-PART-128" in twin.ours


def test_without_the_vendors_package_it_says_so(file: Path):
    with pytest.raises(SdkMissing, match="--vendor-python") as caught:
        compare(file, vendor_python=sys.executable)
    assert caught.value.code == "sdk.missing"


def test_a_kernel_of_which_nothing_is_stated_is_not_guessed_at(file: Path):
    with pytest.raises(ArgumentsInvalid, match="arguments are not known"):
        compare(file, entry="another")
