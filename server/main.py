"""The command ``nki-anvil``. Serving over stdio is the default and starts fast: nothing else is loaded for it."""

from __future__ import annotations

import gc
import os
import sys

COMPLETING = "_NKI_ANVIL_COMPLETE"
"""Set by a shell that asks for completions; it gives no arguments, and must not get a server."""


def main() -> None:
    """Exit status: see ``server/commands``."""
    if sys.argv[1:] in ([], ["serve"]) and COMPLETING not in os.environ:
        # Importing builds some hundred thousand objects that stay: collecting among them costs a sixth of the start.
        gc.disable()
        from nki_anvil.server.stdio import serve

        serve()
    else:
        from nki_anvil.server.commands import run

        run()


if __name__ == "__main__":
    main()
