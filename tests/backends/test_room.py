"""A full disk is told as one, wherever it was met, and nothing else is taken for it."""

import errno
import os

import pytest

from nki_anvil.backends import room
from nki_anvil.backends.errors import PathUnwritable


def full(number: int = errno.ENOSPC) -> OSError:
    return OSError(number, os.strerror(number), "/data/cases")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_who_meets_a_full_disk_is_told_to_free_some_space(number: int):
    with pytest.raises(PathUnwritable, match=r"No space is left for /data/cases\. Free some space"), room.told():
        raise full(number)


def test_a_full_disk_is_found_among_what_several_tasks_met():
    with pytest.raises(PathUnwritable, match="/data/cases"), room.told():
        raise ExceptionGroup("tasks", [ValueError(), ExceptionGroup("more", [full()])])


@pytest.mark.parametrize("error", [full(errno.EACCES), ExceptionGroup("tasks", [ValueError()])])
def test_whatever_else_goes_wrong_stays_what_it_is(error: Exception):
    with pytest.raises(type(error)) as raised, room.told():
        raise error
    assert raised.value is error
