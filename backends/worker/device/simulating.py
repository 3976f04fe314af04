"""A host without devices as a remote simulator: the ordinary runner, watched as a device job is, modelled times."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from nki_anvil.backends.worker import isolation
from nki_anvil.backends.worker.children import Children
from nki_anvil.backends.worker.device import requests
from nki_anvil.backends.worker.device.runner import watch
from nki_anvil.backends.worker.runner import Runner


def main() -> None:
    """Run the job in the folder that is named; the second argument is the inherited lock."""
    folder, running = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(running, False)
    isolation.adopt_orphans()
    children = Children()
    request = json.loads((folder / requests.REQUEST).read_bytes())
    watch(folder, children, float(request["grace_s"]))
    sys.stdout = (folder / requests.PROGRESS).open("a", buffering=1)  # its progress lines are read by who attends
    Runner(folder, children, os.cpu_count() or 1).run()


if __name__ == "__main__":
    main()
