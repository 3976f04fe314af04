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
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, NoReturn, Optional

import numpy as np

from nki_anvil.backends.worker import (
    answer,
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

_PART: Final = 8
"""The part of the time for tracing that calls with other shapes may take, and half of what one call more may."""
_FURTHER_CALLS: Final = 3
_QUICK_S: Final = 0.05
"""So often a kernel is called once more whose trace takes no longer than this."""


_OTHERWISE: Final = (
    "its file is called otherwise, it was called at other shapes before, its tensors are given by name, or assertions "
    "are left out"
)

_BEHIND: Final = "a function calls it twice, or with tensors of its own or numbers of NumPy's"

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


class OutOfTime(BaseException):
    """Tracing took longer than the job allows; no ordinary ``except`` of the kernel catches it."""

    code = "Timeout"
    remedy = (
        "A loop never ends, or is unrolled too far: bound it, tile more coarsely, or let it run at execution with "
        "nl.fori_loop or nl.while_loop (nl.dynamic_range up to NKI 0.6)."
    )


class TraceUnstable(Exception):
    """A second call in the same process is another program, or may be one."""

    code = "TraceUnstable"
    remedy = "Keep nothing between calls: make lists, dictionaries and counters inside of the kernel."

    def __init__(self, kept: Sequence[str], when: str = "it is called once more") -> None:
        names = ", ".join(f"`{name}`" for name in kept[:3])
        super().__init__(
            f"The kernel leaves something behind in {names} for its next call."
            if kept
            else f"The kernel traces to another program when {when}."
        )


class CachedSlowly(Exception):
    """What a cache makes of further calls cannot be seen in the time there is."""

    code = "TraceUnstable"
    remedy = "Compute without `cache` and `lru_cache`, or let the kernel trace faster."

    def __init__(self) -> None:
        super().__init__("The kernel asks a cache, and traces too slowly to see what the cache makes of other calls.")


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
        _confine(request)
        ready()
        try:
            with _time_limit(request["limits"]["trace_s"]):
                _scattered = _scatter()
                text = kernel_text.parse(request["kernel"])
                left_out += text.left_out
                entry = kernel_text.entry_name(text, request["entry"])

                taken: list[float] = []

                def tracing(
                    namespace: dict[str, Any], entry: str = entry, *, by_name: bool = False
                ) -> Callable[..., bytes]:
                    function = _specialised(namespace[entry], request["lnc"])
                    parameters.check(function, [spec["name"] for spec in request["inputs"]])

                    def traced(inputs: Any = request["inputs"]) -> bytes:
                        started = time.monotonic()
                        named = _named(function, inputs, version) if by_name else {}
                        program = trace(function, *map(_argument, inputs[len(named) :]), **named, **version).encode()
                        if inputs is request["inputs"]:
                            taken.append(time.monotonic() - started)
                        return _within(program, request["limits"]["program_bytes"])

                    return traced

                if others is None:
                    namespace, more = rewriting.load(text)
                    left_out += more
                    lasting.check(namespace, text.statements)
                    data = _compared(tracing(namespace), functools.partial(keeping.Held, namespace))
                else:
                    namespace = importing.load(text, executing.name_of_a_file(text))
                    apart = importing.apart(text, namespace)
                    lasting.check(namespace, text.statements, apart=apart)
                    hold = functools.partial(keeping.Held, namespace, apart=apart, caches=True)
                    data = called_again(tracing(namespace), hold, others, request["limits"]["trace_s"])
                    if min(taken) < request["limits"]["trace_s"] / _PART / 2:
                        np.set_printoptions(**_PRINTED)
                        other = importing.load(text, executing.short_name(), asserting=False)
                        _alike(data, tracing(other, by_name=True)(), _OTHERWISE)
                        _the_same_behind(
                            _specialised(namespace[entry], request["lnc"]), others, request["inputs"], version
                        )
        except BaseException as error:
            deliver(entry, left_out, _record(import_failure(error) or error, text, error.__traceback__))
        else:
            deliver(entry, left_out, None, data)


def _compared(traced: Callable[[], bytes], hold: Callable[..., keeping.Held]) -> bytes:
    """The program, once it is seen that making it has left nothing behind in what the names hold."""
    before = hold()
    data = traced()
    held = hold()
    if kept := held.changed(before):
        raise TraceUnstable(kept)
    if held.unseen:
        asked = hold(caches=True)
        _alike(data, traced())
        if kept := hold(caches=True).changed(asked):
            raise TraceUnstable(kept)
    return data


def _alike(one: bytes, other: bytes, *when: str) -> None:
    if one != other:
        raise TraceUnstable([], *when)


def called_again(
    traced: Callable[..., bytes], hold: Callable[[], keeping.Held], others: list[Any], trace_s: float
) -> bytes:
    """The program after calls with other shapes, once it is seen that further calls give no other.

    What is kept once for all, as in a cache, has been kept by then. A kernel that takes a large part of the time there
    is for tracing is called no more, and may have no caches: what they keep would be seen too late.
    """
    budget = importing.Budget(trace_s / _PART)
    asides = [importing.Aside(budget) for _ in others]
    at_first = hold()
    for aside, inputs in zip(asides, others, strict=True):
        with aside:
            traced(inputs)
    if not at_first.unseen and (kept := hold().changed(at_first)):
        raise TraceUnstable(kept)
    started = time.monotonic()
    data = traced()
    slow = (taken := time.monotonic() - started) > 2 * trace_s / _PART
    before = hold()
    if before.unseen and (slow or any(aside.ended for aside in asides)):
        raise CachedSlowly
    if slow:
        return data
    same = traced() == data
    kept = hold().changed(before)
    if kept or not same:
        raise TraceUnstable(kept)
    for _ in range(_FURTHER_CALLS if taken < _QUICK_S else 0):
        _alike(data, traced())
    return data


def _the_same_behind(function: Any, others: list[Any], inputs: list[Any], version: dict[str, str]) -> None:
    """Raises TraceUnstable where it is another program behind a call of itself, at one other shape or at its own."""
    own = list(map(_argument, inputs))
    first = list(map(_argument, others[0])) if others else own
    for before, memory, single in ((first, "shared_hbm", False), (own, "private_hbm", True)):
        if not second_call.is_the_kernel(function, before, own, memory=memory, single=single, **version):
            raise TraceUnstable([], _BEHIND)


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


def _specialised(function: Any, lnc: int) -> Any:
    from nki_anvil.sim.kernel import jit

    return function if lnc == 1 else jit(function)[lnc]


def _confine(request: dict[str, Any]) -> None:
    limits = request["limits"]
    bounds = isolation.Bounds(
        cpu_s=int(limits["trace_s"]) + 5,
        memory_bytes=min(limits["memory_bytes"], isolation.physical_bytes() // 2),
        processes=limits["processes"],
        file_bytes=0,
    )
    isolation.confine(bounds, request["readable"])


@contextmanager
def _time_limit(seconds: float) -> Generator[None]:
    """Interrupts the kernel where it stands; who survives even that is killed from outside."""

    def interrupt(_signal: int, _frame: Any) -> NoReturn:
        raise OutOfTime(f"Tracing was stopped after {seconds:g} s.")

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
