import numpy as np
import pytest


@pytest.fixture(autouse=True)
def seeded() -> None:
    """References draw from NumPy's global generator."""
    np.random.seed(20)
