"""``ProxyCommand`` of a stand-in host: passes bytes on, and cuts the line once in the middle of a transfer.

``cut.json`` in the folder it is given says in which direction and after how many bytes from now.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from pathlib import Path


def main(port: int, orders: Path) -> None:
    with socket.create_connection(("127.0.0.1", port)) as line:
        ways = {0: ("up", line.fileno()), line.fileno(): ("down", 1)}
        left: dict[str, int] = {}
        while True:
            for source in select.select(list(ways), [], [])[0]:
                direction, sink = ways[source]
                data = os.read(source, 1 << 14)
                if not data:
                    return
                if not left and orders.exists():
                    left = json.loads(orders.read_text())
                if direction in left:
                    left[direction] -= len(data)
                    if left[direction] <= 0:
                        orders.unlink()
                        return
                while data:
                    data = data[os.write(sink, data) :]


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
