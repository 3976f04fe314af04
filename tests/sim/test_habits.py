"""Mistakes of Python inside a kernel are answered with what was meant: a near name, a signature, a way that works."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.modules import emulated
from nki_anvil.sim.tracing import trace
from nki_anvil.sim.versions import VERSIONS

X = np.zeros((128, 512), np.float32)


def refused(*lines: str, version: str = "0.7") -> TraceError:
    """What a kernel of these lines, behind its first, is refused with."""
    body = "\n".join(f"    {line}" for line in ("bias = nl.ndarray((128, 512), nl.float32)", *lines))
    tree: dict[str, ModuleType] = emulated(version)
    namespace: dict[str, Any] = {"nl": tree["nki.language"], "nisa": tree["nki.isa"]}
    exec(compile(f"def helper(tile, scale=2.0): ...\ndef kernel(x):\n{body}\n", "kernel.py", "exec"), namespace)
    with pytest.raises(TraceError) as caught:
        trace(namespace["kernel"], X, version=version)
    assert caught.value.line == 3 + len(lines)
    return caught.value


@pytest.mark.parametrize(
    ("line", "code", "remedy"),
    [
        ("nisa.tensor_tensor(bias, bias, data2=bais, op=nl.add)", "NKI-PYTHON", "Did you mean bias?"),
        ("helpr(bias)", "NKI-PYTHON", "Did you mean helper?"),
        ("qqq = zzz", "NKI-PYTHON", "The names here are x, bias."),
        ("np.zeros(3)", "NKI-PYTHON", "import numpy as np"),
        ("bias.shpe", "NKI-UNKNOWN", "Did you mean shape?"),
        ("bias.zzzzz", "NKI-UNKNOWN", "It has "),
        ("nl.tile_size.pmaxx", "NKI-PYTHON", "Did you mean pmax"),
        ("nisa.tensor_tenser(bias, bias)", "NKI-UNKNOWN", "tensor_tensor"),
        ("helper(bias, scael=1.0)", "NKI-ARGUMENT", "Did you mean scale? It is helper(tile, scale=2.0)."),
        ("helper()", "NKI-ARGUMENT", "It is helper(tile, scale=2.0)."),
        (
            "nisa.tensor_tensor(out=bias, data1=bias, data2=bias, op=nl.add)",
            "NKI-ARGUMENT",
            "It is tensor_tensor(dst, data1, data2, op, engine=engine.unknown, name=None).",
        ),
        ("nisa.tensor_tensor(bias, bias, bias)", "NKI-ARGUMENT", "tensor_tensor(dst, data1, data2, op, "),
    ],
)
def test_what_was_meant_is_named(line: str, code: str, remedy: str):
    error = refused(line)
    assert error.code == code
    assert remedy in error.remedy


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("condition", ["bias[0:1, 0:1] > 0", "0.5 <= bias[0:1, 0:1]", "bias > bias"])
def test_a_condition_on_data_is_answered_with_the_ways_to_choose(condition: str, version: str):
    error = refused(f"if {condition}: pass", version=version)
    assert error.code == "NKI-CONTROL"
    assert "A condition on data is impossible while tracing" in error.remedy
    for way in ("nl.where", "nisa.tensor_copy_predicated", "nl.while_loop"):
        assert way in error.remedy


def test_a_name_that_a_branch_left_without_a_value_says_so():
    assert "a branch that was not taken" in refused("if False: late = 1", "late + 1").remedy


def test_what_beta_1_had_is_still_told_as_its_habit():
    assert refused("nisa.tensor_tensor(bias, bias, bias, nl.add, mask=1)").code == "NKI-BETA1"
    assert "allocate dst" in refused("nisa.tensor_tensor(data1=bias, data2=bias, op=nl.add)").remedy


def test_what_refuses_a_kernel_while_it_is_traced_says_itself_what_to_do():
    class Refused(Exception):
        remedy = "Write it otherwise."

    def kernel(x: Any) -> None:
        raise Refused("This is told to no kernel.")

    with pytest.raises(TraceError, match="This is told to no kernel") as caught:
        trace(kernel, X)
    assert caught.value.remedy == Refused.remedy
