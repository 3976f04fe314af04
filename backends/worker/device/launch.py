"""Replaces itself by another program that is killed when its parent ends. Run by path: ``launch.py PROGRAM ...``."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606
