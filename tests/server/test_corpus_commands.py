"""``corpus`` and ``simcheck`` from the command line: what they print, and how they end."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nki_anvil.server.commands import run

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy_kernel(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=a)
    return out
"""
STATED = '[[kernel]]\nfile = "copying.py"\nentry = "copy_kernel"\narguments = [{shape = [4, 4]}]\n'
Nki = Callable[..., tuple[int, str, str]]


@pytest.fixture
def nki(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Nki:
    monkeypatch.setenv("NKI_ANVIL_DATA", str(tmp_path / "data"))

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nki-anvil", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return command


def test_a_corpus_is_told_line_by_line_or_as_json_and_ends_by_what_came_of_it(nki: Nki, tmp_path: Path):
    (tmp_path / "copying.py").write_text(KERNEL)
    (tmp_path / "corpus.toml").write_text(STATED + 'reference = "a"\n')
    status, out, _ = nki("corpus", str(tmp_path))
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["matches", f"{tmp_path}:"]
    (tmp_path / "corpus.toml").write_text(STATED + 'reference = "-a"\n')
    status, out, progress = nki("corpus", str(tmp_path), "--json")
    assert status == 1
    assert json.loads(out)["kernels"][0]["status"] == "differs"
    assert progress.startswith("differs")


def test_wrong_use_is_status_two(nki: Nki, tmp_path: Path):
    status, _, complaint = nki("corpus", str(tmp_path / "nowhere"))
    assert status == 2
    assert "[path.unreadable]" in complaint


def test_simcheck_without_the_vendors_package_is_status_three_and_says_what_to_do(nki: Nki, tmp_path: Path):
    (tmp_path / "copying.py").write_text(KERNEL)
    (tmp_path / "corpus.toml").write_text(STATED)
    status, _, complaint = nki("simcheck", str(tmp_path / "copying.py"))
    assert status == 3
    assert "[sdk.missing]" in complaint
