"""The process that has one kernel traced: ``python ... tracing_process FOLDER``.

It starts the fenced kernel process and ends whatever that leaves behind, all children of this process included; so it
is a process of its own. It leaves ``answer.json``, and the program beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from nki_anvil.backends.worker import isolation, kernel_runs
from nki_anvil.backends.worker.children import Children


def main(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text())
    isolation.die_with_parent()
    children = Children()
    try:
        inputs = {"inputs": request["inputs"]}
        found = kernel_runs.run(children, str(folder), request["job"], request["kernel"], inputs, 0)
        answer = {"failed": found.error} if found.error is not None else {}
        (folder / "program").write_bytes(found.program)
    except kernel_runs.NeverStarted as error:
        answer = {"machine": str(error)}
    finally:
        children.end_all()
    partial = folder / "answer.partial"
    partial.write_text(json.dumps(answer))
    partial.replace(folder / "answer.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
