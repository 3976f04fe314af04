"""Members of the enumerations have no number: nobody is told whether they are true, nor finds them by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nki_anvil.sim.beta1.enums import engine, nc_version, reduce_cmd
from nki_anvil.sim.errors import TraceError


@pytest.mark.parametrize(
    "asked",
    [
        lambda: bool(reduce_cmd.idle),
        lambda: 2.0 if engine.vector else 3.0,
        lambda: {5: 3.0}.get(engine.vector, 2.0),
        lambda: {engine.vector},
        lambda: engine.vector == 5,
        lambda: engine.vector.value,
    ],
)
def test_who_asks_a_member_for_its_number_is_refused(asked: Callable[[], Any]) -> None:
    with pytest.raises(TraceError):
        asked()


def test_members_are_compared_with_each_other() -> None:
    assert engine.vector == engine.vector
    assert engine.vector != engine.scalar
    assert engine.vector in (engine.scalar, engine.vector)
    assert nc_version.gen2 < nc_version.gen3
