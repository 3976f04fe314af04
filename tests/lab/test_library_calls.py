"""Functions of NumPy's that compute in double are named when a problem is opened."""

import pytest

from nki_anvil.lab import library_calls


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("np.linalg.eigvalsh(x)", "np.linalg.eigvalsh"),
        ("np.abs(np.fft.rfft(x)) ** 2 + np.cov(x)", "np.cov, np.fft.rfft"),
        ("np.logaddexp.reduce(x, axis=-1)", "np.logaddexp"),
        ("numpy.linalg.inv(x)", "np.linalg.inv"),
    ],
)
def test_what_computes_in_double_by_itself_is_named(call: str, named: str) -> None:
    text = f"import numpy as np\ndef forward(x):\n    return {call}\n"
    (said,) = library_calls.warnings(text.encode())
    assert f"within {named}: " in said


def test_norms_sums_and_products_are_not() -> None:
    text = "import numpy as np\ndef forward(x):\n    return np.linalg.norm(x) + np.sum(x @ x) + x.cov\n"
    assert library_calls.warnings(text.encode()) == ()
