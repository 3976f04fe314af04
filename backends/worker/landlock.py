"""Landlock (Linux 5.13 and later): takes files and TCP away from this process, except reading a few folders."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from typing import Final

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # system calls, the same number on every architecture
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38

_READ: Final = (1 << 2) | (1 << 3)  # READ_FILE, READ_DIR of linux/landlock.h
_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""(interface version, number of file rights that it knows)."""
_NETWORK_SINCE, _SCOPE_SINCE = 4, 6
_TCP: Final = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS: Final = 0b11


def version() -> int:
    """The interface version that the running system offers; 0 where it has none."""
    if sys.platform != "linux":
        return 0
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG))


def apply(readable: Iterable[str]) -> None:
    """Leave this process nothing but reading below ``readable``, for good; raises OSError where the system refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = _attributes(version())
    ruleset = libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock is not available")
    try:
        for folder in readable:
            _allow_reading(libc, ruleset, folder)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_RESTRICT, ruleset, 0):
            raise OSError(ctypes.get_errno(), "Landlock was refused")
    finally:
        os.close(ruleset)


def _attributes(interface: int) -> bytes:
    """struct landlock_ruleset_attr, as long as this interface knows it."""
    rights = max((count for since, count in _FILE_RIGHTS if since <= interface), default=0)
    fields = [(1 << rights) - 1]
    fields += [_TCP] if interface >= _NETWORK_SINCE else []
    fields += [_ABSTRACT_SOCKETS_AND_SIGNALS] if interface >= _SCOPE_SINCE else []
    return struct.pack(f"={len(fields)}Q", *fields)


def _allow_reading(libc: ctypes.CDLL, ruleset: int, folder: str) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return  # what is not there need not be allowed
    try:
        rule = struct.pack("=Qi", _READ, handle)
        if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), f"Landlock does not accept {folder}")
    finally:
        os.close(handle)
