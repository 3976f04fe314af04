"""Where a kernel makes what it shares: at its own level, in no loop and in no function that it calls."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Final

from nki_anvil.sim.errors import TraceError

if TYPE_CHECKING:
    from nki_anvil.sim.beta1.recorder import Recorder

_INLINE: Final = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})
"""Frames that Python opens before 3.12 for what stands in a function."""


def check_level(recorder: Recorder) -> None:
    """Raises TraceError for a shared tensor that is made in a loop or in a helper (NKI API errors, SDK 2.26)."""
    looped = any(loop.kind != "grid" for loop in recorder.loops)
    if looped or _helped(recorder.source):
        raise TraceError(
            "NKI-SHARED",
            f"A tensor in shared HBM is made in {'a loop' if looped else 'a function that the kernel calls'}.",
            remedy="Make it in the kernel itself, before its loops, and pass it on; or take nl.private_hbm for what is"
            " no output.",
        )


def _helped(source: str) -> bool:
    """Whether the kernel's function called the one that is running; one that is jitted is called by us."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and (frame.f_code.co_filename != source or frame.f_code.co_name in _INLINE):
        frame = frame.f_back
    caller = None if frame is None else frame.f_back
    return caller is not None and caller.f_code.co_filename == source
