import pytest
from court import Court


@pytest.fixture(scope="session")
def court(tmp_path_factory: pytest.TempPathFactory) -> Court:
    """One set of pools for all kernels, as a server keeps them."""
    return Court(tmp_path_factory.mktemp("court"))
