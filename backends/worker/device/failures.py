"""What compilers and runtimes say when they fail, told apart: the kernel's doing, or the machine's.

Codes of the compiler begin with ``NCC_``, those of the runtime with ``NRT_`` and carry their number in parentheses.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any, Final, Optional

_COMPILER: Final = re.compile(r"\bNCC_[A-Z0-9]+\b")
_RUNTIME: Final = re.compile(r"\b(NRT_[A-Z0-9_]+)\s*\((\d+)\)")
_LINE: Final = re.compile(r'(?:kernel\.py"?,? ?(?:line |:)|File "[^"]*kernel\.py", line )(\d+)')

KERNEL: Final[dict[str, tuple[str, str]]] = {
    "NRT_EXEC_OOB": (
        "The device read or wrote out of bounds.",
        "Check indices and access patterns against the tensors' shapes, also those that data decides.",
    ),
    "NRT_EXEC_NUMERICAL_ERR_NAN": (
        "The device computed NaN.",
        "Check reciprocals, logarithms and uninitialised tiles.",
    ),
    "NRT_TIMEOUT": ("The device did not come to an end.", "Check the end of loops that depend on data."),
    "NRT_EXEC_HW_ERR_HBM_UE": ("The device reported a memory error.", ""),
    "NRT_EXEC_BAD_INPUT": ("The device refused the inputs.", "Check the kernel's arguments."),
}
"""Runtime statuses that a kernel can cause, with what they mean and what to do (Neuron Runtime's return codes)."""

BUSY: Final = ("NRT_UNINITIALIZED", "NRT_RESOURCE", "NRT_EXEC_COMPLETED_WITH_ERR_BUSY")
_BUSY_WORDS: Final = re.compile(r"core\(s\) not available|neuron.?core.* (?:busy|in use|occupied)|device.* busy", re.I)
_WRONG_CHIP: Final = re.compile(r"compiled for .*architecture|different target|unsupported (?:arch|target)", re.I)


class MachineFailure(Exception):
    """This host could not do its part; ``code`` is one of the server's words for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def compile_error(said: str) -> dict[str, Any]:
    """The KernelError of a compiler that refused a kernel, from whatever it said."""
    code = _COMPILER.search(said)
    return {
        "code": code[0] if code else "CompileError",
        "message": _sentence(said, code[0] if code else None),
        "line": line_of(said),
        "remedy": "The code is explained in the Neuron compiler's error reference." if code else "",
    }


def run_error(said: str) -> Optional[dict[str, Any]]:
    """The KernelError of a run that the kernel itself broke; None where it was the machine."""
    for name, number in _RUNTIME.findall(said):
        if name in KERNEL:
            meaning, remedy = KERNEL[name]
            return {"code": name, "message": f"{meaning} {name}({number})", "line": None, "remedy": remedy}
    return None


def machine_failure(said: str) -> MachineFailure:
    """What a failed run says about the machine."""
    if _BUSY_WORDS.search(said) or any(name in BUSY for name, _ in _RUNTIME.findall(said)):
        return MachineFailure("core_busy", f"the device is in use by something that holds no lease: {tail(said)}")
    if _WRONG_CHIP.search(said):
        return MachineFailure("wrong_chip", f"the device cannot run what was compiled: {tail(said)}")
    if os.strerror(errno.ENOSPC) in said:
        return MachineFailure("disk_full", "the disk is full")
    return MachineFailure("failed", f"running on the device failed: {tail(said)}")


def line_of(said: str) -> Optional[int]:
    """The last line of the kernel's text that is named."""
    found = _LINE.findall(said)
    return int(found[-1]) if found else None


def tail(said: str, characters: int = 300) -> str:
    """The last thing that was said, on one line."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    return " ".join(lines[-3:])[-characters:]


def _sentence(said: str, code: Optional[str]) -> str:
    """The line with the code, else the last one."""
    lines = [line.strip() for line in said.strip().splitlines() if line.strip()]
    chosen = next((line for line in reversed(lines) if code and code in line), lines[-1] if lines else "")
    return (chosen or "The compiler refused the kernel without a word.")[:1500]
