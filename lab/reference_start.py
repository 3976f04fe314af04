"""Where a reference's process begins: ``python -m nki_anvil.lab.reference_start FOLDER``."""

import os
import sys
from pathlib import Path

from nki_anvil.lab import openers

if __name__ == "__main__":
    openers.stand_in()
    from nki_anvil.backends.room import FULL, is_lack_of_room
    from nki_anvil.lab.reference_process import main  # with NumPy, which keeps functions that open files

    try:
        main(Path(sys.argv[1]))
    except OSError as error:
        os._exit(FULL if is_lack_of_room(error) else 1)
    sys.stdout.flush()
    os._exit(0)
