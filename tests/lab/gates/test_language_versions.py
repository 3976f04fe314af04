"""The language gate reads a kernel as the compiler of the problem's NKI would."""

import pytest

from nki_anvil.lab.gates import language

KERNEL = """import nki
import nki.language as nl


@nki.jit
def kernel(x, {star}y=1):
    if y {same} None:
        return x
    return x
"""


@pytest.mark.parametrize("version", ["0.3", "0.6"])
def test_what_a_version_refuses_stops_the_kernel_with_its_line_and_the_remedy(version):
    judged = language.judge(KERNEL.format(star="*, ", same="=="), None, version=version)
    assert (judged.passed, judged.code, judged.line) == (False, "NKI-SUBSET-KWONLY", 6)
    assert version in judged.detail
    assert "signature" in judged.detail
    assert "move parameters" in judged.hint


def test_what_a_version_is_only_said_to_refuse_is_a_warning():
    judged = language.judge(KERNEL.format(star="", same="is"), None, version="0.5")
    assert judged.passed
    assert any("NKI 0.5" in warning and "line 7" in warning for warning in judged.warnings)


def test_the_current_version_takes_both():
    judged = language.judge(KERNEL.format(star="*, ", same="is"), None)
    assert judged.passed
    assert not judged.warnings
