"""By this module the dialect of NKI 0.3 and later is told."""

from nki import Kernel

__all__ = ["Kernel"]
