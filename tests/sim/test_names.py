"""Every public name of NKI 0.6 either is here with the parameters it has there, or is refused by name with the reason.

``names_0_6.json`` lists names and parameters as the stubs in ``nki/api`` of aws-neuron-sdk v2.32.0 declare them.
"""

import inspect
import json
from pathlib import Path

import pytest

from nki_anvil.sim.errors import NotSimulated
from nki_anvil.sim.language.operations import Binary, Unary
from nki_anvil.sim.modules import emulated

DECLARED = json.loads(Path(__file__).with_name("names_0_6.json").read_text())
NAMES = [(module, name) for module, names in DECLARED.items() for name in names]
TREE = emulated("0.6")
ELSEWHERE = {
    "nc_matmul_mx", "quantize_mx", "activate2", "exponential", "rand2",  # Trainium3
    *(name for name in DECLARED["nki.collectives"] if name != "ReplicaGroup"),
}  # fmt: skip
"""What one simulated NeuronCore of Trainium2 has not."""


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_here_or_refused_by_name(module, name):
    if name in ELSEWHERE:
        with pytest.raises(NotSimulated, match=name):
            getattr(TREE[module], name)
    else:
        assert getattr(TREE[module], name) is not None


@pytest.mark.parametrize(("module", "name"), [n for n in NAMES if DECLARED[n[0]][n[1]] and n[1] not in ELSEWHERE])
def test_a_function_takes_the_declared_parameters_in_their_order(module, name):
    function = getattr(TREE[module], name)
    parameters = list(inspect.signature(function).parameters)
    assert parameters == DECLARED[module][name].split()


def test_operations_are_both_functions_and_values_of_op():
    language = TREE["nki.language"]
    for name in ("exp", "add", "gelu", "bitwise_and"):
        assert isinstance(getattr(language, name), (Unary, Binary))
        assert getattr(language, name).operation == name
