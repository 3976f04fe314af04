"""Runs a compiled kernel on a core, on inputs that lie in files. A script by itself: its Python has the runtime's
binding and NumPy, not necessarily anything of ours, and it never sees kernel text.

It reads one JSON object per line, the compiled file first, then cases and timings, and answers each with a line.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import time
from typing import Any, Optional

import numpy as np

INTERFACES = (
    ("nrtpy", "NrtpyModel", "NrtpyTensor", "nrtpy"),
    ("nki.runtime", "SpikeModel", "SpikeTensor", "spike"),
    ("spike", "SpikeModel", "SpikeTensor", "spike"),
)
"""Module, model, tensor, and what the timer is called: the same interface under the names it has had."""
SUFFIXES = (".must_alias_input",)
"""What compilers append to an argument's name."""
POISONS = (0xA5, 0x5A)
"""Two bit patterns for fresh memory; an element that equals the pattern in both runs was never written."""


def main() -> None:
    """Serve until the input ends, and leave without running exit handlers of the runtime, which may hang."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    try:
        _serve()
    except MemoryError:
        _say(failed="out of memory")
    except Exception as error:
        _say(failed=f"{type(error).__name__}: {error}")
    sys.stdout.flush()
    os._exit(0)


def _serve() -> None:
    model_class, tensor_class, timer = _interface()
    runner = Runner(model_class.load_from_neff(json.loads(sys.stdin.readline())["neff"]), tensor_class)
    _say(timer=timer, outputs=[list(info.shape) for info in runner.outputs_info.values()])
    for line in sys.stdin:
        request = json.loads(line)
        if "iterations" in request:
            runner.time(request)
        else:
            runner.case(request)


def _interface() -> tuple[Any, Any, str]:
    for module, model, tensor, timer in INTERFACES:
        try:
            found = importlib.import_module(module)
            return getattr(found, model), getattr(found, tensor), timer
        except (ImportError, AttributeError):
            continue
    raise RuntimeError("no interface to the runtime: neither nrtpy nor spike can be imported")


class Runner:
    """One loaded model."""

    def __init__(self, model: Any, tensor: Any) -> None:
        self.model, self.tensor = model, tensor
        self.inputs_info = dict(model.input_tensors_info)
        self.outputs_info = dict(sorted(model.output_tensors_info.items(), key=_rank))

    def case(self, case: dict[str, Any]) -> None:
        """Run one case; its outputs lie beside its inputs as ``out.<position>.npy``."""
        drawn = [(spec["name"], _read(spec)) for spec in case["inputs"]]
        try:
            inputs = self._placed(drawn)
            outputs = self._poisoned(case["poison"])
            started = time.monotonic()
            self.model(inputs=inputs, outputs=outputs)
            taken = time.monotonic() - started
        except Exception as error:
            _say(case=case["key"], error=f"{type(error).__name__}: {error}")
            return
        for position, tensor in enumerate(outputs.values()):
            _write(f"{case['folder']}/out.{position}.npy", tensor.numpy())
        changed = [
            name
            for (name, array), tensor in zip(drawn, inputs.values(), strict=True)
            if not _same(array, tensor.numpy())
        ]
        _say(case=case["key"], outputs=len(outputs), mutated=changed, seconds=taken)

    def time(self, timing: dict[str, Any]) -> None:
        """Timed runs on the same inputs, each by itself, and whether what they computed is what an untimed run does."""
        inputs = self._placed([(spec["name"], _read(spec)) for spec in timing["inputs"]])
        expected, outputs = self._poisoned(0), self._poisoned(1)
        self.model(inputs=inputs, outputs=expected)
        us, mode = self._benchmark(inputs, outputs, timing["warmups"], timing["iterations"])
        same = all(_same(a.numpy(), b.numpy()) for a, b in zip(expected.values(), outputs.values(), strict=True))
        for position, tensor in enumerate(outputs.values()):
            _write(f"{timing['folder']}/out.{position}.npy", tensor.numpy())
        _say(us=us, mode=mode, outputs=len(outputs), timed_outputs="equal" if same else "differ")

    def _benchmark(
        self, inputs: dict[str, Any], outputs: dict[str, Any], warmups: int, iterations: int
    ) -> tuple[list[float], str]:
        """Microseconds of every timed run. A binding that returns only summary figures is asked run by run."""
        options = {"inputs": inputs, "outputs": outputs, "mode": "device"}
        found = self._asked(options, warmups, iterations)
        durations = list(getattr(found, "durations_ms", None) or ())
        if len(durations) == iterations:
            return [1e3 * float(ms) for ms in durations], "device"
        single = [self._asked(options, 0, 1) for _ in range(iterations)]
        return [1e3 * float(one.mean_ms) for one in single], "device, one by one"

    def _asked(self, options: dict[str, Any], warmups: int, iterations: int) -> Any:
        try:
            return self.model.benchmark(**options, warmup_iter=warmups, benchmark_iter=iterations)
        except TypeError:  # before there were modes
            options = {name: value for name, value in options.items() if name != "mode"}
            return self.model.benchmark(**options, warmup_iter=warmups, benchmark_iter=iterations)

    def _placed(self, drawn: list[tuple[str, Any]]) -> dict[str, Any]:
        """The inputs on the device, under the names that the compiled kernel has for them."""
        names = self._names([name for name, _ in drawn])
        return {
            there: self.tensor.from_numpy(array, name=there) for there, (_, array) in zip(names, drawn, strict=True)
        }

    def _names(self, given: list[str]) -> list[str]:
        """By name, with the compiler's suffixes; where it calls its inputs by number, by position."""
        there = list(self.inputs_info)
        bare = {_bare(name): name for name in there}
        if all(name in bare for name in given) and len(given) == len(there):
            return [bare[name] for name in given]
        if len(given) != len(there):
            raise RuntimeError(f"the compiled kernel has the inputs {', '.join(there)}, not {', '.join(given)}")
        return sorted(there, key=lambda name: _rank((name, None)))

    def _poisoned(self, poison: int) -> dict[str, Any]:
        """Output tensors whose memory holds a pattern, so that what is never written can be seen."""
        found: dict[str, Any] = {}
        for name, info in self.outputs_info.items():
            pattern: Any = np.full(int(info.size), POISONS[poison], np.uint8)
            shape = tuple(int(size) for size in info.shape)
            width = int(info.size) // max(1, int(np.prod(shape)))
            shaped = pattern.view(f"u{width}").reshape(shape) if width in (1, 2, 4, 8) else pattern
            found[name] = self.tensor.from_numpy(shaped, name=name)
        return found


def _bare(name: str) -> str:
    for suffix in SUFFIXES:
        name = name[: -len(suffix)] if name.endswith(suffix) else name
    return name


def _rank(item: tuple[str, Any]) -> tuple[int, str]:
    """``output_10`` comes after ``output_9``."""
    digits = "".join(character for character in item[0] if character.isdigit())
    return int(digits) if digits else -1, item[0]


def _read(spec: dict[str, Any]) -> Any:
    array = np.load(spec["path"], allow_pickle=False)
    dtype = _extended(spec["dtype"])
    return array.view(dtype) if dtype is not None and array.dtype.kind == "u" else array


def _extended(name: str) -> Optional[Any]:
    """A dtype that NumPy alone cannot name; without ml_dtypes the bytes go as they are."""
    try:
        np.dtype(name)
    except TypeError:
        try:
            return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        except (ImportError, AttributeError):
            pass
    return None


def _write(path: str, array: Any) -> None:
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind == "V" or not plain.dtype.isbuiltin:
        plain = plain.view(f"u{plain.dtype.itemsize}")
    np.save(path, plain, allow_pickle=False)


def _same(first: Any, second: Any) -> bool:
    return np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
