"""Every public name of NKI 0.2 to 0.6 either is here with the parameters it has there, or is refused by name with the
reason.

``names.json`` lists names and parameters by version, as the stubs in ``nki/api`` of aws-neuron-sdk declare them at its
tags v2.28.0, v2.29.0, v2.30.0, v2.31.1 and v2.32.0.
"""

import inspect
import json
from pathlib import Path

import pytest

from nki_anvil.sim.errors import NotSimulated
from nki_anvil.sim.language.operations import Binary, Operation, Unary
from nki_anvil.sim.modules import emulated

DECLARED = json.loads(Path(__file__).with_name("names.json").read_text())
MODULES = [(version, module) for version, modules in DECLARED.items() for module in modules]
ELSEWHERE = {
    "nc_matmul_mx", "quantize_mx", "activate2", "exponential", "rand2",  # Trainium3
    *(name for modules in DECLARED.values() for name in modules["nki.collectives"] if name != "ReplicaGroup"),
}  # fmt: skip
"""What one simulated NeuronCore of Trainium2 has not."""

UNDOCUMENTED = {("0.2", "sendrecv"): ["use_gpsimd_dma"], ("0.2", "tensor_copy"): ["dtype"]}
"""What a version takes beyond its stub: published kernels and the guide for moving on to 0.3 have it."""


@pytest.mark.parametrize(("version", "module"), MODULES)
def test_a_public_name_is_here_or_refused_by_name(version, module):
    tree = emulated(version)
    for name in DECLARED[version][module]:
        if name in ELSEWHERE:
            with pytest.raises(NotSimulated, match=name):
                getattr(tree[module], name)
        else:
            assert getattr(tree[module], name) is not None


@pytest.mark.parametrize(("version", "module"), MODULES)
def test_a_function_takes_the_parameters_that_its_version_declares_in_their_order(version, module):
    tree = emulated(version)
    for name, declared in DECLARED[version][module].items():
        if not declared or name in ELSEWHERE:
            continue
        function = getattr(tree[module], name)
        if version == "0.2" and isinstance(function, Operation):
            continue  # there it names an operation and cannot be called
        assert list(inspect.signature(function).parameters) == declared.split() + UNDOCUMENTED.get((version, name), [])


def test_operations_are_both_functions_and_values_of_op():
    language = emulated("0.6")["nki.language"]
    for name in ("exp", "add", "gelu", "bitwise_and"):
        assert isinstance(getattr(language, name), (Unary, Binary))
        assert getattr(language, name).operation == name
