"""Whose turn it is."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nki_anvil.backends.turns.ticket import Share, Ticket, first, in_turn


def ticket(
    name: str, client: str, problem: str = "p", call: str = "1", *, asked: float = 0, runs: bool = False
) -> Ticket:
    return Ticket(
        name=name, client=client, place="", problem=problem, call=call, purpose="verify", asked=asked, longest_s=60,
        began=0.0 if runs else None,
    )  # fmt: skip


def order(*tickets: Ticket, served: dict[Share, float] | None = None) -> list[str]:
    return [one.name for one in in_turn(tickets, served or {})]


def test_the_client_that_holds_fewest_cores_is_next_whoever_asked_first():
    greedy = [ticket(f"g{number}", "greedy", asked=number) for number in range(6)]
    late = ticket("late", "modest", asked=99)
    assert order(ticket("held", "greedy", runs=True), *greedy, late)[0] == "late"


def test_on_one_core_clients_alternate_since_who_was_served_longest_ago_is_next():
    many = [ticket(f"a{number}", "a", asked=number) for number in range(3)]
    few = [ticket(f"b{number}", "b", asked=10 + number) for number in range(2)]
    served = dict.fromkeys(many[0].shares, 5.0)
    assert order(*many, *few, served=served) == ["b0", "a0", "b1", "a1", "a2"]


def test_problems_of_one_client_take_turns_and_calls_on_one_problem_too():
    search = [ticket(f"s{number}", "c", "p", "1", asked=number) for number in range(3)]
    other_call = ticket("verify", "c", "p", "2", asked=50)
    other_problem = ticket("elsewhere", "c", "q", "3", asked=60)
    held = ticket("held", "c", "p", "1", runs=True)
    assert order(held, *search, other_call, other_problem)[:2] == ["elsewhere", "verify"]


def test_nobody_waits_in_an_empty_queue():
    assert first([ticket("held", "a", runs=True)], {}) is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("pq"), st.integers(0, 3)), max_size=40))
def test_every_ticket_is_served_once_and_no_client_gets_two_while_another_that_waits_gets_none(
    asked: list[tuple[str, str, int]],
):
    tickets = [
        ticket(str(number), client, problem, str(call), asked=number)
        for number, (client, problem, call) in enumerate(asked)
    ]
    told = [*in_turn(tickets, {})]
    assert Counter(one.name for one in told) == Counter(one.name for one in tickets)
    left = Counter(one.client for one in tickets)
    got: Counter[str] = Counter()
    for one in told:
        assert got[one.client] <= min(got[client] for client in left if left[client] > got[client])
        got[one.client] += 1
