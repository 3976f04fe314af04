import pytest
from token_cost import LIST_LIMIT, ROUND, ROUND_LIMIT, one_round, tokens, tool_list


def test_a_token_is_four_characters_and_a_part_of_one_is_one():
    assert [tokens("ab"), tokens("abc"), tokens({"a": 1})] == [1, 2, 2]


def test_the_list_of_tools_is_cheap_enough_to_be_in_every_session():
    assert sum(tool_list().values()) < LIST_LIMIT


@pytest.mark.slow
def test_the_results_of_one_round_leave_room_for_the_kernel():
    cost = one_round()
    assert list(cost) == [tool for tool, _ in ROUND]
    assert sum(cost.values()) < ROUND_LIMIT
