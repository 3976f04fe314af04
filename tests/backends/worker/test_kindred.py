"""Rows along another input's: each query has a key far above all others, at every key or at edges in turn."""

import numpy as np
import pytest

from nki_anvil.backends.worker import inputs, kindred


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("queries", "keys"), [((160, 64), (96, 64)), ((2, 3, 160, 64), (2, 3, 96, 64))])
def test_each_query_has_one_key_far_above_all_others_and_each_key_is_that_of_some_query(
    queries: tuple[int, ...], keys: tuple[int, ...]
) -> None:
    own, other = drawn(*queries), drawn(*keys)
    assert [*kindred.turns(queries, keys)] == [0]
    bent = kindred.kindred(own, other, np.random.default_rng(1), 1.0, 0)
    scores = np.sort(bent @ other.swapaxes(-1, -2) / 8, axis=-1)
    assert (scores[..., -1] - scores[..., -2]).min() > 30
    largest = (bent @ other.swapaxes(-1, -2)).argmax(axis=-1).reshape(-1, queries[-2])
    assert all(set(one) == set(range(keys[-2])) for one in largest)


def test_a_few_queries_have_their_keys_at_edges_in_turn_whatever_heads_share_them() -> None:
    queries, keys = drawn(2, 4, 64), drawn(2, 2, 256, 64)
    met: set[int] = set()
    turns = [*kindred.turns(keys.shape, queries.shape)]
    for turn in turns[turns.index(1) :]:
        bent = kindred.kindred(keys, queries, np.random.default_rng(turn), 1.0, turn)
        for batch in range(2):
            for head in range(4):
                largest = (bent[batch] @ queries[batch, head]).argmax(axis=-1)
                assert len(set(largest.tolist())) == 1
                met.add(int(largest[0]))
        assert (bent != keys).any(axis=-1).sum() == 2 * 2 * 4
    assert met <= set(kindred.edges(256))
    assert {0, 99, 127, 128} <= met


def test_only_leading_axes_that_both_have_keep_to_themselves() -> None:
    assert kindred.shared_axes((2, 2, 256, 64), (2, 4, 64)) == 1
    assert kindred.shared_axes((2, 3, 8, 64), (2, 3, 4, 64)) == 2
    assert kindred.shared_axes((3, 8, 64), (2, 4, 64)) == 0
    assert not kindred.may_meet((64,), (8, 64))
    assert not kindred.may_meet((8, 4), (8, 4))
    assert kindred.may_meet((8, 64), (16, 64))


@pytest.mark.parametrize(
    ("way", "queries", "keys"),
    [("mine", (64, 160), (96, 64)), ("theirs", (160, 64), (64, 96)), ("both", (2, 64, 160), (2, 64, 96))],
)
def test_queries_and_keys_may_be_transposed(way: str, queries: tuple[int, ...], keys: tuple[int, ...]) -> None:
    spec = [{"name": name, "shape": [*shape], "dtype": "float32"} for name, shape in (("q", queries), ("k", keys))]
    bent = inputs.draw({"inputs": spec}, {"seed": 1, "family": f"kindred/k/{way}/0", "input": "q"})
    q, k = kindred.transposed(bent["q"], way), kindred.transposed(bent["k"], way, other=True)
    scores = np.sort(q @ k.swapaxes(-1, -2) / 8, axis=-1)
    assert (scores[..., -1] - scores[..., -2]).min() > 30
    assert kindred.transposed_shapes(queries, keys, way) == (q.shape, k.shape)
