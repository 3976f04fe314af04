"""The process that runs kernel text: it traces it to a program, and knows shapes, dtypes and scalars but no data.

Whatever it gives back is data for others to check. Nothing here is trusted once the text has been touched, so all walls
are up before, and the nonce of the answer lives in a closure only.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, NoReturn, Optional

import numpy as np

from nki_anvil.backends.worker import (
    answer,
    calling_again,
    executing,
    importing,
    isolation,
    keeping,
    kernel_text,
    lasting,
    parameters,
    rewriting,
    second_call,
)

Deliver = Callable[..., None]

_PRINTED: Final[dict[str, Any]] = {
    "precision": 2,
    "threshold": 4,
    "edgeitems": 1,
    "linewidth": 20,
    "sign": " ",
    "suppress": True,
    "floatmode": "fixed",
    "nanstr": "no",
    "infstr": "much",
}
"""How arrays are written, which is the user's program's to say."""


_OTHERWISE: Final = (
    "its file is called otherwise, it was called at other shapes before, its tensors are given by name, it is launched "
    "by kernel[1], or assertions are left out"
)

_CALLED_AGAIN: Final = "Calling it once more, behind a call of itself,"
_BEHIND: Final = "a function calls it more than once, or with tensors of its own or numbers of NumPy's"


class OutOfTime(BaseException):
    """Tracing took longer than the job allows; no ordinary ``except`` of the kernel catches it."""

    code = "Timeout"
    remedy = (
        "A loop never ends, or is unrolled too far: bound it, tile more coarsely, or let it run at execution with "
        "nl.fori_loop or nl.while_loop (nl.dynamic_range up to NKI 0.6)."
    )


class TooLarge(Exception):
    """The program has more bytes than the job allows."""

    code = "TooLarge"
    remedy = "Let the kernel loop over fewer, larger tiles, or pass data as an argument instead of as a constant."


def main() -> NoReturn:
    """Read the request from standard input, trace, answer on the channel, and leave without running exit handlers."""
    isolation.detach()
    request = json.load(sys.stdin.buffer)
    ready, deliver = _channel(request.pop("nonce"), request.pop("channel"))
    others = request.pop("others")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _trace_and_deliver(request, others, ready, deliver)
    os._exit(0)


def _channel(nonce: str, channel: int) -> tuple[Callable[[], None], Deliver]:
    """How to say that all walls are up, and how to answer."""

    def ready() -> None:
        os.write(channel, nonce.encode())

    def deliver(
        entry: Optional[str], left_out: list[str], error: Optional[dict[str, Any]] = None, program: bytes = b""
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.flush()
        view = memoryview(answer.pack(nonce, entry, left_out, error, program))
        while view:
            view = view[os.write(channel, view) :]

    return ready, deliver


def _trace_and_deliver(
    request: dict[str, Any], others: Optional[list[Any]], ready: Callable[[], None], deliver: Deliver
) -> None:
    import nki_anvil.sim as sim
    from nki_anvil.sim.modules import import_failure, sign_as_nki
    from nki_anvil.sim.tracing import trace

    version = {"chip": request["chip"], "version": request["version"]}
    text: Optional[kernel_text.KernelText] = None
    entry: Optional[str] = None
    left_out: list[str] = []
    with sim.install(request["version"], beta1="neuronxcc" in request["kernel"]):
        if others is None:
            sign_as_nki()
        _confine(request, request.pop("longest_s"))
        ready()
        try:
            with _time_limit(request["limits"]["trace_s"]):
                _scattered = _scatter()
                text = kernel_text.parse(request["kernel"])
                left_out += text.left_out
                entry = kernel_text.entry_name(text, request["entry"])

                taken: list[float] = []

                def tracing(
                    namespace: dict[str, Any], entry: str = entry, *, otherwise: bool = False
                ) -> Callable[..., bytes]:
                    function = _specialised(namespace[entry], request["lnc"], gridded=otherwise)
                    parameters.check(function, [spec["name"] for spec in request["inputs"]])

                    def traced(inputs: Any = request["inputs"]) -> bytes:
                        started = time.monotonic()
                        named = _named(function, inputs, version) if otherwise else {}
                        program = trace(function, *map(_argument, inputs[len(named) :]), **named, **version).encode()
                        if inputs is request["inputs"]:
                            taken.append(time.monotonic() - started)
                        return _within(program, request["limits"]["program_bytes"])

                    return traced

                again: Optional[calling_again.Again] = None
                if others is None:
                    namespace, more = rewriting.load(text)
                    left_out += more
                    lasting.check(namespace, text.statements)
                    data = calling_again.compared(tracing(namespace), functools.partial(keeping.Held, namespace))
                else:
                    namespace = importing.load(text, executing.name_of_a_file(text))
                    apart = importing.apart(text, namespace)
                    lasting.check(namespace, text.statements, apart=apart)
                    hold = functools.partial(keeping.Held, namespace, apart=apart, caches=True)
                    again = calling_again.called_again(tracing(namespace), hold, others, request["limits"]["trace_s"])
                    data = again.program
            if again is not None:
                with _time_limit(request["limits"]["trace_s"], _CALLED_AGAIN):
                    np.set_printoptions(**_PRINTED)
                    bare = importing.load(text, executing.short_name(), asserting=False)
                    quick = calling_again.is_quick(min(taken), request["limits"]["trace_s"])
                    function = _specialised((namespace if quick else bare)[entry], request["lnc"], gridded=not quick)
                    if quick or not second_call.has_callers(function):
                        calling_again.alike(data, tracing(bare, otherwise=True)(), _OTHERWISE)
                    (_look_behind if quick else _look_once)(function, again, request["inputs"], version)
        except BaseException as error:
            deliver(entry, left_out, _record(import_failure(error) or error, text, error.__traceback__))
        else:
            deliver(entry, left_out, None, data)


def _look_behind(function: Any, again: calling_again.Again, inputs: list[Any], version: dict[str, Any]) -> None:
    """Raises TraceUnstable where it is another program behind calls of itself, at other shapes or at its own."""
    own, others = _calls(again, inputs)
    for before, memory, single in ((others, "shared_hbm", False), ([own], "private_hbm", True)):
        if not second_call.is_the_kernel(function, before, own, memory=memory, single=single, **version):
            raise calling_again.TraceUnstable([], _BEHIND)


def _look_once(function: Any, again: calling_again.Again, inputs: list[Any], version: dict[str, Any]) -> None:
    """The same of a kernel that traces slowly, in one trace: without assertions, by name and behind itself."""
    own, others = _calls(again, inputs)
    names = [*_named(function, inputs, version)]
    if not second_call.is_the_kernel(function, others, own, memory="private_hbm", names=names, **version):
        raise calling_again.TraceUnstable([], f"{_BEHIND}, {_OTHERWISE}")


def _calls(again: calling_again.Again, inputs: list[Any]) -> tuple[second_call.Call, list[second_call.Call]]:
    """The one that counts, and those before it: at other shapes, as far as they have ended in time, else at its own."""
    own = _call(inputs, again.program)
    return own, [_call(*one) for one in again.before] or [own]


def _call(inputs: list[Any], program: bytes) -> second_call.Call:
    from nki_anvil.sim.program import decode

    return second_call.Call(list(map(_argument, inputs)), decode(program))


def _scatter() -> list[bytes]:
    """Fills memory by lot, so that no two processes make the same objects at the same places of a page."""
    drawn = os.urandom(33)
    return [bytes(16 * size) for size, count in enumerate(drawn) if size for _ in range(count)]


def _argument(spec: dict[str, Any]) -> Any:
    """A tensor without values, or the scalar itself."""
    from nki_anvil.sim.tracing import ArraySpec

    if spec["shape"] is None:
        return int(spec["value"]) if spec["dtype"] == "int" else float(spec["value"])
    return ArraySpec(tuple(spec["shape"]), spec["dtype"])


def _named(function: Any, inputs: list[dict[str, Any]], version: dict[str, Any]) -> dict[str, Any]:
    """All of them by the names that the problem has for them, where the kernel knows every one; else none."""
    names = [spec["name"] for spec in inputs]
    if not parameters.are_known(function, names, version):
        return {}
    return dict(zip(names, map(_argument, inputs), strict=True))


def _specialised(function: Any, lnc: int, *, gridded: bool = False) -> Any:
    """As it is launched: on one core without brackets, unless it is to be ``gridded``."""
    from nki_anvil.sim.beta1.kernel import Beta1Kernel, is_beta1
    from nki_anvil.sim.kernel import jit
    from nki_anvil.sim.running_modes import uncompiled

    kernel = jit(function)
    if isinstance(kernel, Beta1Kernel) and kernel.only_simulated:
        raise uncompiled()
    brackets = gridded and kernel.cores == 1 and not is_beta1(kernel)
    return kernel[lnc] if lnc > 1 or brackets else function


def _confine(request: dict[str, Any], seconds: float) -> None:
    limits = request["limits"]
    bounds = isolation.Bounds(
        cpu_s=int(seconds) + 5,
        memory_bytes=min(limits["memory_bytes"], isolation.physical_bytes() // 2),
        processes=limits["processes"],
        file_bytes=0,
    )
    isolation.confine(bounds, request["readable"])


@contextmanager
def _time_limit(seconds: float, doing: str = "Tracing") -> Generator[None]:
    """Interrupts the kernel where it stands; who survives even that is killed from outside."""

    def interrupt(_signal: int, _frame: Any) -> NoReturn:
        raise OutOfTime(f"{doing} was stopped after {seconds:g} s.")

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _within(program: bytes, limit: int) -> bytes:
    if len(program) > limit:
        raise TooLarge(f"The program has {len(program)} bytes; {limit} are allowed.")
    return program


def _record(
    error: BaseException, text: Optional[kernel_text.KernelText], traceback: Optional[TracebackType]
) -> dict[str, Any]:
    """The error as a KernelError, at the innermost line of the kernel's own text."""
    line = getattr(error, "line", None) or _line_of(traceback)
    code = getattr(error, "code", None)
    return {
        "code": code if isinstance(code, str) else type(error).__name__,
        "message": _message(error),
        "line": line if isinstance(line, int) else None,
        "text": str(getattr(error, "text", "")) or (text.line(line) if text else ""),
        "remedy": str(getattr(error, "remedy", "")),
    }


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The kernel ended the process itself (exit {error.code!r})."
    try:
        message = getattr(error, "message", None) or str(error)
    except BaseException:
        message = ""
    return str(message) or type(error).__name__


def _line_of(traceback: Optional[TracebackType]) -> Optional[int]:
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == kernel_text.FILENAME:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


if __name__ == "__main__":
    main()
