"""Every seed's plain kernel in both simulators: the vendor's own where ``NKI_ANVIL_VENDOR_PYTHON`` names a Python with
it, else a stand-in that is our own emulation under the vendor's name, exact or off by a factor.
"""

import os
from pathlib import Path

import pytest

from nki_anvil.backends.errors import ArgumentsInvalid, ProblemUnknown
from nki_anvil.lab import seeds
from nki_anvil.lab.corpus.problems import kernel_file
from nki_anvil.lab.corpus.twins import compare

VENDOR = os.environ.get("NKI_ANVIL_VENDOR_PYTHON", "")
STAND_IN = """
import sys
from nki_anvil.sim.modules import emulated

__version__ = "0.7.stand-in"
_tree = emulated()
sys.modules.update({{name: module for name, module in _tree.items() if name != __name__}})
isa, language, typing, jit = (vars(_tree[__name__])[name] for name in ("isa", "language", "typing", "jit"))


def simulate(kernel):
    def run(*args):
        found = _tree[__name__].simulate(kernel)(*args)
        return tuple(one * {factor} for one in found) if isinstance(found, tuple) else found * {factor}

    return run
"""
QUICK = ("rmsnorm", "bmm_softmax")


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def install(factor: float) -> None:
        (tmp_path / "site" / "nki").mkdir(parents=True)
        (tmp_path / "site" / "nki" / "__init__.py").write_text(STAND_IN.format(factor=factor))
        monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path / "site"))

    return install


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in seeds.names()]
)
def test_a_seeds_kernel_gives_in_both_simulators_the_same(vendor, name):
    if not VENDOR:
        vendor(1.0)
    twins = compare(Path(f"seed:{name}"), vendor_python=VENDOR)
    (twin,) = twins.kernels
    assert twin.agree, str(twins)
    assert twin.relative_error is not None
    assert VENDOR or twins.vendor_version == "0.7.stand-in"


def test_a_vendor_that_computes_something_else_is_noticed_on_a_seed(vendor):
    vendor(1.01)
    (twin,) = compare(Path("seed:rmsnorm")).kernels
    assert not twin.agree
    assert twin.relative_error == pytest.approx(0.01, rel=0.02)


def test_a_problem_folder_stands_for_its_kernel(tmp_path: Path):
    folder = seeds.copy("rope", tmp_path)
    assert kernel_file(folder) == kernel_file(folder / "kernel.py") == folder.resolve() / "kernel.py"
    assert kernel_file(Path("seed:rope")).read_text() == (folder / "kernel.py").read_text()


def test_a_problem_that_does_not_say_which_kernel_is_meant_is_refused(tmp_path: Path):
    folder = seeds.copy("rope", tmp_path)
    declared = folder / "problem.toml"
    declared.write_text("".join(line for line in declared.read_text().splitlines(True) if not line.startswith("entry")))
    with (folder / "kernel.py").open("a") as file:
        file.write("\n\n@nki.jit\ndef another(x):\n    return x\n")
    with pytest.raises(ArgumentsInvalid, match="2 kernels"):
        compare(folder)


def test_a_seed_that_is_not_there_is_named_with_its_nearest():
    with pytest.raises(ProblemUnknown, match="rmsnorm"):
        compare(Path("seed:rmsnrom"))
