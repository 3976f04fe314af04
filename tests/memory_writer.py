"""One of several processes that write to a memory at once: ``memory_writer.py FOLDER NUMBER``."""

import sys
from pathlib import Path

from nki_anvil.memory.adding import add_experience
from nki_anvil.memory.credit import credit
from nki_anvil.memory.experience import Draft, Measurement
from nki_anvil.memory.retrieval import Situation, query
from nki_anvil.memory.store import Store

WRITES = 15
SHARED = Draft(kind="fact", title="Shared", when_to_use="everywhere", advice="evidence comes from all sides")


def numbered(name: str) -> Draft:
    """A lesson like no other."""
    word = "".join(chr(ord("a") + int(digit)) if digit.isdigit() else "x" for digit in name)
    return Draft(kind="fact", title=f"Advice {word}", when_to_use=f"{word}1 {word}2", advice=f"{word}3 {word}4 {word}5")


def main(folder: Path, writer: str) -> None:
    """Add lessons of its own and evidence to a shared one, ask, and credit what was shown."""
    store = Store.open(folder)
    for number in range(WRITES):
        add_experience(store, numbered(f"{writer} {number}"))
        attempt = Measurement(problem=f"p{writer}", attempt=number, digest="00", outcome="kept", origin="modelled")
        add_experience(store, SHARED, measured=attempt)
        answer = query(store, Situation(text="shared evidence everywhere"))
        assert answer.shown_id is not None
        credit(store, answer.shown_id, attempt.model_copy(update={"outcome": "undecided"}))
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
