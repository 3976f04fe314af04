"""How well and how fast memory answers: recall of the retrieval set, and the time of an answer among 10,000."""

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from retrieval_set import SHOWN, ask_all, recall
from rich.table import Table

from nki_anvil.memory.adding import identity
from nki_anvil.memory.experience import Draft, Experience
from nki_anvil.memory.retrieval import query
from nki_anvil.memory.starters import open_memory
from nki_anvil.memory.store import Store, insert
from nki_anvil.memory.tagging import tagged
from nki_anvil.memory.text import words

MANY = 10_000
GOAL_MS = 20.0
RECALL_GOAL = 0.9


def crowd(starters: list[Experience], seed: int = 7) -> Iterator[Draft]:
    """Endless experiences made of the starters' own words, so that every question has thousands of rivals."""
    vocabulary = [word for one in starters for word in words(f"{one.title} {one.when_to_use} {one.advice}")]
    chance = random.Random(seed)
    for number in itertools.count():
        title, when, advice = (" ".join(chance.choices(vocabulary, k=size)) for size in (7, 20, 45))
        yield tagged(Draft(kind="fact", title=f"{title} {number}", when_to_use=when, advice=advice))


def fill(store: Store, size: int) -> None:
    """Bring the store to ``size`` experiences in one transaction."""
    starters = store.experiences()
    missing = size - len(starters)
    with store.writing() as connection:
        for draft in itertools.islice(crowd(starters), missing):
            insert(connection, Experience(**draft.model_dump(), id=identity(draft), provenance="asserted"))


def answers_ms(store: Store) -> list[float]:
    """Milliseconds of each question of the retrieval set, its answer logged as the server logs it."""
    times: list[float] = []
    for one in ask_all(store):
        began = time.perf_counter()
        query(store, one.situation, SHOWN)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def tables() -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_memory(Path(folder))
        asked = ask_all(store)
        found = Table("set", "situations", "starters", "recall at 5", "goal", title="Memory: what comes up")
        row = (str(len(asked)), str(store.count()), f"{recall(asked):.2f}")
        found.add_row("retrieval set", *row, f"at least {RECALL_GOAL}")
        yield found
        fill(store, MANY)
        answers_ms(store)
        times = answers_ms(store)
        speed = Table("experiences", "questions", "median", "95th percentile", "worst", "goal", title="Memory: speed")
        ranked = sorted(times)
        shown = (statistics.median(ranked), ranked[int(0.95 * len(ranked))], ranked[-1])
        speed.add_row(
            f"{store.count():,}", str(len(times)), *(f"{ms:.1f} ms" for ms in shown), f"under {GOAL_MS:.0f} ms"
        )
        yield speed
        store.close()
