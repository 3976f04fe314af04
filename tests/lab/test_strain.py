"""How much of its limits a kernel uses is told row by row."""

from typing import Any

import numpy as np

from nki_anvil.backends.job import Case
from nki_anvil.backends.run import CaseResult
from nki_anvil.lab import strain
from nki_anvil.lab.evidence import Observed
from nki_anvil.lab.yardstick import measure

R = np.random.default_rng(1).standard_normal((8, 32))
U = 2.0**-24


def observed(*outputs: Any, exact: Any = (), dtype: str = "float32", r: Any = R) -> Observed:
    honest = [[np.asarray(r * (1 + U), np.float32) for _ in outputs]]
    yardstick = measure(
        [r for _ in outputs],
        honest,
        [],
        dtypes=[dtype for _ in outputs],
        precision="float32",
        rowwise=True,
        large=False,
    )
    result = CaseResult(key="k", inputs_digest="", outputs=outputs, exact=exact)
    return Observed(Case(key="k", seed=1), result, yardstick)


def off(row: int, by: float, r: Any = R) -> Any:
    y = np.array(r)
    y[row] *= 1 + by
    return y


def test_a_row_that_is_off_uses_more_than_the_others() -> None:
    shares = strain.of_rows(observed(off(3, 1e-5).astype(np.float32)))
    assert shares is not None
    assert shares.shape == (8,)
    assert shares.argmax() == 3
    assert shares[3] > 1 > 2 * np.delete(shares, 3).max()


def test_what_is_off_in_float64_alone_counts_as_well() -> None:
    shares = strain.of_rows(observed(R.astype(np.float32), exact=(off(5, 1e-8),)))
    assert shares is not None
    assert shares.argmax() == 5
    assert shares[5] > 1


def test_of_several_outputs_the_worst_counts() -> None:
    shares = strain.of_rows(observed(off(1, 1e-5).astype(np.float32), off(2, 2e-5).astype(np.float32)))
    assert shares is not None
    assert set(np.argsort(-shares)[:2].tolist()) == {1, 2}


def test_numbers_that_are_none_are_no_more_than_a_bound() -> None:
    y = R.astype(np.float32)
    y[4, 0] = np.inf
    shares = strain.of_rows(observed(y))
    assert shares is not None
    assert shares[4] == strain.BEYOND


def test_nothing_leads_to_what_is_judged_by_equality() -> None:
    whole = np.arange(32.0).reshape(4, 8)
    assert strain.of_rows(observed(whole.astype(np.int32), dtype="int32", r=whole)) is None


def test_a_single_number_is_one_row() -> None:
    shares = strain.of_rows(observed(np.array(2.5, np.float32), r=np.array(2.5)))
    assert shares is not None
    assert shares.shape == (1,)
