"""The model against public recordings of real devices."""

from nki_anvil.sim.calibration import replay


def test_every_recorded_case_is_predicted_within_its_goal():
    missed = [f"{item.case} {item.quantity}: {item.ratio:.2f}" for item in replay() if not item.within_goal]
    assert not missed
