"""Which pairs of inputs get families of what they are to each other, and how many cases."""

from nki_anvil.backends.job import InputSpec
from nki_anvil.lab import related_families

X = InputSpec(name="x", shape=(64, 48))
T = InputSpec(name="t", shape=(64, 48))
BIAS = InputSpec(name="bias", shape=(48,))


def test_floats_that_may_be_labels_name_sides_of_what_has_their_shape():
    for known in ({"zero_or_one": True}, {"domain": "unit"}, {"low": 0.0, "high": 1.0}):
        label = T.model_copy(update=known)
        small, large = (list(related_families.named([X, label], [X, label], size)) for size in (False, True))
        assert {plan.only for plan in small} == {"x"}
        assert {plan.family.partition("/")[0] for plan in small} == {"named"}
        assert len(small) == 2 * len(large) > 0
        assert not list(related_families.named([BIAS, label], [BIAS, label], False))
    assert not list(related_families.named([X, T], [X, T], False))
