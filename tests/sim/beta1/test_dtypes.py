"""Dtypes of Beta 1 answer what NumPy's types, its dtypes and texts answer alike, and refuse the rest."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nki_anvil.backends.worker import kernel_text, rewriting
from nki_anvil.sim import install
from nki_anvil.sim.beta1.kernel import jit
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.tracing import ArraySpec, trace

REFUSED = [
    "nl.tfloat32 == np.dtype('|V4')",
    "{'float32': 2.0}.get(x.dtype, 3.0)",
    "{nl.float32: 2.0}.get(x.dtype, 3.0)",
    "x.dtype in {nl.float32, nl.bfloat16}",
    "x.dtype in {'float32', 'bfloat16'}",
    "x.dtype in ('bfloat16', 'float32')",
    "x.dtype == 'f4'",
    "x.dtype == 'float32'",
    "'float32' == x.dtype",
    "x.dtype != 'float32'",
    "nl.float32 == 'float32'",
    "x.dtype == float",
    "x.dtype < nl.int32",
    "min(x.dtype, nl.int32)",
    "sorted([nl.float32, nl.bfloat16])",
    "len(x.dtype)",
    "list(x.dtype)",
    "x.dtype[0]",
    "'f' in x.dtype",
    "hasattr(x.dtype, 'startswith')",
    "hasattr(x.dtype, 'name')",
    "getattr(x.dtype, 'kind', 'f')",
    "x.dtype.upper()",
    "x.dtype.name",
    "x.dtype.dtype",
    "x.dtype.format",
    "nl.float32.itemsize",
    "str(x.dtype)",
    "repr(nl.float32)",
    "f'{x.dtype}'",
    "f'{x.dtype!r}'",
    "'%s' % x.dtype",
    "'{}'.format(x.dtype)",
    "isinstance(x.dtype, str)",
    "isinstance(nl.float32, type)",
    "type(x.dtype) is str",
    "x.dtype + 'x'",
]
ANSWERED = {
    "x.dtype == nl.float32": True,
    "x.dtype != nl.float32": False,
    "nl.bfloat16 == x.dtype": False,
    "x.dtype == np.float32": True,
    "np.float32 == x.dtype": True,
    "x.dtype == np.dtype('float32')": True,
    "np.dtype('float32') == x.dtype": True,
    "np.dtype('float16') == x.dtype": False,
    "nl.bfloat16 == ml_dtypes.bfloat16": True,
    "nl.tfloat32 == nl.float32": False,
    "x.dtype == None": False,
    "x.dtype is None": False,
    "x.dtype in (nl.bfloat16, nl.float32)": True,
    "x.dtype in [nl.bfloat16, nl.float16]": False,
    "(None or x.dtype) == nl.float32": True,
    "x.dtype.itemsize": 4,
    "nl.bfloat16.itemsize": 2,
    "{nl.float32: 2, nl.bfloat16: 3}[nl.bfloat16]": 3,
    "{np.float32: 2}[nl.float32]": 2,
    "{'float32': 2}.get(nl.float32, 3)": 3,
    "np.finfo(x.dtype).bits": 32,
    "float(np.zeros(1, dtype=x.dtype)[0])": 0.0,
    "np.zeros(1, dtype=nl.bfloat16).dtype == ml_dtypes.bfloat16": True,
}


def asked(question: str) -> Any:
    """What a kernel is told that is read and watched as one that is judged."""
    answers: list[Any] = []
    head = "import ml_dtypes\nimport numpy as np\nimport neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
    with install():
        text = f"{head}\n\ndef asks(x):\n    return {question}\n\n\ndef kernel(x):\n    return x\n"
        asks = rewriting.load(kernel_text.parse(text))[0]["asks"]
        trace(jit(lambda x: answers.append(asks(x)) or x), ArraySpec((128, 64), "float32"))
    return answers[0]


@pytest.mark.parametrize("question", REFUSED)
def test_what_texts_and_dtypes_of_numpys_answer_differently_is_refused_with_a_remedy(question: str) -> None:
    with pytest.raises(Exception) as caught:
        asked(question)
    code = getattr(caught.value, "code", "")
    assert code in ("NKI-DTYPE", "AttributeUnavailable", "TraceUnstable", "NKI-PYTHON"), caught.value
    assert getattr(caught.value, "remedy", "")


@pytest.mark.parametrize("question", ANSWERED)
def test_what_they_answer_alike_is_answered(question: str) -> None:
    assert asked(question) == ANSWERED[question]


@pytest.mark.parametrize("dtype", ["nl.bfloat16", "np.float16", "x.dtype", "ml_dtypes.bfloat16"])
def test_a_dtype_is_passed_on(dtype: str) -> None:
    found = asked(f"nl.load(x, dtype={dtype}).dtype == {dtype}")
    assert found is True


def test_what_is_said_of_one_names_what_to_write(beta1: Any) -> None:
    with pytest.raises(TraceError) as caught:
        min(beta1.nl.float32, beta1.nl.int32)
    assert "NumPy's" in caught.value.message
    assert "in a tuple" in caught.value.remedy


@pytest.mark.parametrize("stored", [np.float32, ml_dtypes.bfloat16, np.int32])
def test_an_array_has_the_dtype_that_a_dtype_stands_for(beta1: Any, stored: Any) -> None:
    name = np.dtype(stored).name
    assert np.zeros(3, dtype=getattr(beta1.nl, name)).dtype == np.dtype(stored)
