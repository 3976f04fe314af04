"""A system-call filter (Linux): once on, this process can start no process, open no socket and touch no other.

Defence in depth for the process that runs kernel text. A refused call fails with EPERM, which reaches the kernel's
author as a PermissionError at the kernel's own line.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from typing import Final, Optional

_X86 = "x86_64"
_ARM = "aarch64"
_AUDIT: Final = {_X86: 0xC000003E, _ARM: 0xC00000B7}  # AUDIT_ARCH_*, linux/audit.h

DENIED: Final[dict[str, tuple[Optional[int], Optional[int]]]] = {
    # name: number on x86_64, on aarch64 (asm/unistd_64.h and asm-generic/unistd.h of Linux 6)
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "setsid": (112, 157), "setpgid": (109, 154), "unshare": (272, 97), "setns": (308, 268),
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "io_uring_setup": (425, 425),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "prlimit64": (302, 261), "setpriority": (141, 140),
    "sched_setaffinity": (203, 122), "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180), "memfd_create": (319, 279),
    "mount": (165, 40), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setfsuid": (122, 151), "setfsgid": (123, 152),
    "setgroups": (116, 159), "capset": (126, 91), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "kcmp": (312, 272), "process_madvise": (440, 440), "process_mrelease": (448, 448),
}  # fmt: skip
DENIED_FIRST: Final[dict[str, tuple[int, int, tuple[int, ...]]]] = {
    # name: number on x86_64, on aarch64, values of the first argument that are refused
    "prctl": (157, 167, (1,)),  # PR_SET_PDEATHSIG, with which it would outlive who started it
}
DENIED_SECOND: Final[dict[str, tuple[int, int, tuple[int, ...]]]] = {
    # the same for the second argument: what names the process that a descriptor's signals go to, or chooses the signal
    "fcntl": (72, 25, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": (16, 29, (0x8901, 0x8902, 0x5412)),  # FIOSETOWN, SIOCSPGRP; TIOCSTI, which types into a terminal
}
_CLONE: Final = {_X86: 56, _ARM: 220}
_CLONE3: Final = 435
_CLONE_THREAD: Final = 0x00010000
_X32_BIT: Final = 0x40000000

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000  # SECCOMP_RET_*
_EPERM, _ENOSYS = 1, 38
_LOAD, _JUMP_EQ, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_* of linux/bpf_common.h
_NUMBER_AT, _ARCH_AT, _ARGUMENT0_AT, _ARGUMENT1_AT = 0, 4, 16, 24  # offsets in struct seccomp_data
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def supported() -> bool:
    """Whether this system and processor have a filter here."""
    return sys.platform == "linux" and platform.machine() in _AUDIT


def apply() -> None:
    """Put the filter on, for good, for this process and its threads; raises OSError where the system refuses."""
    code = _filter(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "the system-call filter was refused")


def _filter(machine: str) -> bytes:
    """The filter as BPF: wrong architecture dies, denied calls get EPERM, threads may be made, processes may not."""
    column = (_X86, _ARM).index(machine)
    numbers = [number for pair in DENIED.values() if (number := pair[column]) is not None]
    code = [
        _step(_LOAD, _ARCH_AT),
        _step(_JUMP_EQ, _AUDIT[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_JUMP_GE, _X32_BIT, 0, 1),
        _step(_RETURN, _ERRNO | _EPERM),
        # The C library falls back to clone, whose flags can be read here.
        _step(_JUMP_EQ, _CLONE3, 0, 1),
        _step(_RETURN, _ERRNO | _ENOSYS),
    ]
    for number in numbers:
        code += [_step(_JUMP_EQ, number, 0, 1), _step(_RETURN, _ERRNO | _EPERM)]
    for where, calls in ((_ARGUMENT0_AT, DENIED_FIRST), (_ARGUMENT1_AT, DENIED_SECOND)):
        for *pair, values in calls.values():
            code += _refused(pair[column], where, values)
    code += [
        _step(_JUMP_EQ, _CLONE[machine], 0, 3),
        _step(_LOAD, _ARGUMENT0_AT),
        _step(_JUMP_SET, _CLONE_THREAD, 1, 0),
        _step(_RETURN, _ERRNO | _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(code)


def _refused(number: int, where: int, values: tuple[int, ...]) -> list[bytes]:
    """One call with some values of an argument, of which the kernel sees the lower half alone, as all of these do."""
    code = [_step(_LOAD, where)]
    for value in values:
        code += [_step(_JUMP_EQ, value, 0, 1), _step(_RETURN, _ERRNO | _EPERM)]
    code.append(_step(_LOAD, _NUMBER_AT))
    return [_step(_JUMP_EQ, number, 0, len(code)), *code]


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)
