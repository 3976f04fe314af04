"""``read_table``, of a file that holds its rows as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Table:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def to_pylist(self) -> list[dict[str, Any]]:
        return self._rows


def read_table(path: Any) -> Table:
    return Table(json.loads(Path(path).read_text()))
