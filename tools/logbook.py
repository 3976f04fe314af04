"""One line in the log for each call that ends: how long it took, and with which code it was refused. No arguments."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from nki_anvil.backends.errors import AnvilError

_log = logging.getLogger(__name__)


@contextmanager
def noted() -> Generator[None]:
    """Whose call it is, the log knows by itself."""
    began, outcome = time.monotonic(), "cancelled"
    try:
        yield
        outcome = "answered"
    except AnvilError as error:
        outcome = error.code
        raise
    except Exception:
        outcome = "internal"
        raise
    finally:
        _log.info("call %s", outcome, extra={"outcome": outcome, "seconds": time.monotonic() - began})
