# Started by path with whatever Python a host has: it must parse in any version of Python 3, so it has no annotations.
import json
import os
import sys

OLDEST = (3, 10)

if __name__ == "__main__":
    if sys.version_info[:2] < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:3])
        message = "its Python is " + found + "; the worker needs 3.10 or later"
        print(json.dumps({"event": "failed", "code": "python_old", "message": message}))  # noqa: T201
        sys.exit(0)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    from nki_anvil.backends.worker.device import front

    front.main()
