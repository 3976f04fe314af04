"""The command ``nki-anvil``. Serving over stdio is the default and starts fast: nothing else is loaded for it."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Exit status: see ``server/commands``."""
    if sys.argv[1:] in ([], ["serve"]):
        # Importing builds some hundred thousand objects that stay: collecting among them costs a sixth of the start.
        gc.disable()
        from nki_anvil.server.stdio import serve

        serve()
    else:
        from nki_anvil.server.commands import run

        run()


if __name__ == "__main__":
    main()
