"""What a full disk is called, and how it is told: in one sentence, whoever was writing."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, cast

from nki_anvil.backends.errors import PathUnwritable

FULL: Final = os.EX_IOERR
"""With which a process ends that cannot write down any more what it found."""

REMEDY: Final = "Free some space there, and call again."


def is_lack_of_room(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def told() -> Generator[None]:
    """Raises PathUnwritable where a disk is full and nobody closer to it had more to say."""
    try:
        yield
    except (OSError, BaseExceptionGroup) as error:
        if (full := _full(error)) is None:
            raise
        where = full.filename or "the workspace or the data folder"
        raise PathUnwritable(f"No space is left for {where}.", REMEDY) from error


def _full(error: BaseException) -> OSError | None:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return next((found for part in group.exceptions if (found := _full(part)) is not None), None)
    return error if isinstance(error, OSError) and is_lack_of_room(error) else None
