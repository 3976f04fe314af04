"""Where a reference's process begins: ``python -m nki_anvil.lab.reference_start FOLDER``."""

import os
import sys
from pathlib import Path

from nki_anvil.lab import openers

if __name__ == "__main__":
    openers.stand_in()
    from nki_anvil.lab.reference_process import main  # with NumPy, which keeps functions that open files

    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)
