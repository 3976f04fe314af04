from collections import defaultdict

import pytest
from cheats.catalogue import CHEATS
from court import Court


@pytest.fixture(scope="session")
def court(tmp_path_factory: pytest.TempPathFactory) -> Court:
    """One set of pools for all kernels, as a server keeps them."""
    return Court(tmp_path_factory.mktemp("court"))


@pytest.fixture(scope="session")
def court_of_few(tmp_path_factory: pytest.TempPathFactory) -> Court:
    """One that looks at what is known to show a problem's exploits alone, and so takes a part of the time."""
    shown: dict[str, set[str]] = defaultdict(lambda: {"own"})
    for cheat in CHEATS:
        shown[cheat.problem] |= {cheat.family} - {""}
    return Court(tmp_path_factory.mktemp("court of few"), only=shown)
