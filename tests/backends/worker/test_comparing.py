"""Objects of a text's classes are compared by their fields, or the kernel is refused."""

from dataclasses import dataclass, field
from enum import Enum, IntEnum

import pytest

from nki_anvil.backends.worker.comparing import ComparedByIdentity, by_fields


@by_fields
class Plain:
    def __init__(self, size: int) -> None:
        self.size = size


@by_fields
@dataclass(frozen=True)
class Fields:
    size: int


@by_fields
class Kind(Enum):
    ONE = 1


def test_two_plain_objects_are_not_compared() -> None:
    for compare in (lambda: Plain(1) == Plain(1), lambda: Plain(1) != Plain(2), lambda: Plain(1) in [Plain(1)]):
        with pytest.raises(ComparedByIdentity, match="Two objects of Plain"):
            compare()


def test_one_object_is_itself_and_nothing_else() -> None:
    one = Plain(1)
    assert one == one
    assert one in [one]
    assert one != 1
    assert (one == None) is False  # noqa: E711


def test_what_says_how_it_is_compared_is_compared() -> None:
    assert Fields(1) == Fields(1)
    assert len({Fields(1), Fields(1)}) == 1
    assert Kind(1) == Kind.ONE


@by_fields
@dataclass
class Marked:
    size: int
    note: str = field(default="", compare=False)


def test_what_holds_more_than_it_is_compared_by_is_not_compared() -> None:
    one, other = Fields(1), Fields(1)
    object.__setattr__(other, "seen", 5)
    for compare in (lambda: one == other, lambda: other == one, lambda: Marked(1) == Marked(1)):
        with pytest.raises(ComparedByIdentity, match="more than"):
            compare()
    assert one != Marked(1)


@by_fields
@dataclass
class Others:
    size: int


@by_fields
class OtherKind(Enum):
    ONE = 1
    TWO = 2


@by_fields
class Counted(IntEnum):
    ONE = 1


def test_what_two_classes_hold_alike_is_not_compared() -> None:
    for one, other in ((Fields(1), Others(1)), (Plain(1), Others(1)), (Others(1), Plain(1)), (Kind.ONE, OtherKind.ONE)):
        with pytest.raises(ComparedByIdentity, match="hold the same"):
            assert one == other
    assert Fields(1) != Others(2)
    assert Kind.ONE != OtherKind.TWO


def test_a_member_of_numbers_is_not_compared_with_the_number_it_is() -> None:
    for compare in (lambda: Counted.ONE == 1, lambda: Counted.ONE != 1, lambda: Counted.ONE in (2, 1)):
        with pytest.raises(ComparedByIdentity, match="no member"):
            compare()
    assert Counted.ONE != 2
    assert Counted(1) == Counted.ONE
    assert {Counted.ONE: 3}[Counted.ONE] == 3
