"""The process in which a reference runs: ``python -m nki_anvil.lab.reference_process FOLDER``.

It answers one request (``request.json`` in the folder) with ``answer.json`` and arrays beside it. What the reference
prints or does to the process has no authority: without an answer there is none. It must start fast: NumPy and no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from nki_anvil.backends.worker import isolation
from nki_anvil.backends.worker.inputs import EDGES, digest, draw
from nki_anvil.lab import limits, yardstick
from nki_anvil.lab.arithmetic import Arithmetic, is_array
from nki_anvil.lab.nkibench.reference_side import timed
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.yardstick import Yardstick
from nki_anvil.sim.dtypes import name_of

Array = np.ndarray[Any, Any]
Record = dict[str, Any]

LARGE_FLOPS: Final = 2.0**29
"""Above it, or LARGE_ELEMENTS of inputs and outputs, honest runs are the plain and the slab-wise one."""
LARGE_ELEMENTS: Final = 2**24
HALVINGS: Final = 12
PROBE_TRIES: Final = 8
PROBE_ANSWER: Final = 100.0
"""A probe is used where the exact result answers it by this many times the row limit."""


def main(folder: Path) -> None:
    isolation.die_with_parent()
    request = json.loads((folder / "request.json").read_text())
    _limit_memory(int(request["memory_bytes"]))
    try:
        module = ReferenceModule(Path(request["reference"]), request.get("dims") or {})
        answer = OPERATIONS[request["operation"]](module, request, folder)
    except ReferenceFault as fault:
        answer = {"fault": str(fault)}
    except MemoryError:
        answer = {"fault": f"The reference needs more than {request['memory_bytes'] >> 20} MiB of memory."}
    except Exception:
        answer = {"internal": traceback.format_exc()}
    partial = folder / "answer.partial"
    partial.write_text(json.dumps(answer))
    partial.replace(folder / "answer.json")


def _limit_memory(limit: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# inspect -------------------------------------------------------------------------------------------------------------


def inspect(module: ReferenceModule, request: Record, _folder: Path) -> Record:
    """What the reference takes and gives: several own draws described, and one forward pass with its work counted."""
    draws = [module.get_inputs(seed) for seed in request["seeds"]]
    if any(len(drawn) != len(draws[0]) for drawn in draws):
        raise ReferenceFault("get_inputs returns a different number of arguments from call to call.")
    answer: Record = {
        "names": _names(module, len(draws[0])),
        "constants": module.constants,
        "draws": [[_described(item) for item in drawn] for drawn in draws],
        "kernel_inputs": _kernel_inputs(module, draws[0]),
    }
    if request.get("forward"):
        answer |= _run_once(module, draws[0])
    return answer


def _names(module: ReferenceModule, count: int) -> list[str]:
    names = module.names
    if len(names) < count:
        raise ReferenceFault(f"get_inputs returns {count} arguments, but forward takes only {len(names)}.")
    return names[:count]


def _described(item: Any) -> Record:
    if not is_array(item):
        return {"scalar": type(item).__name__, "value": item}
    numbers = item.astype(np.float64)
    whole = bool(np.all(numbers == np.rint(numbers)))
    low, high = float(numbers.min()), float(numbers.max())
    facts = {"min": low, "max": high, "mean": float(numbers.mean()), "std": float(numbers.std()), "whole": whole}
    return {"dtype": _trainium(item.dtype), "numpy": item.dtype.name, "shape": list(item.shape), **facts}


def _trainium(dtype: Any) -> str:
    """The nearest Trainium format: float64 and int64 are what NumPy makes when nobody asked for them."""
    narrowed = {"float64": "float32", "int64": "int32", "uint64": "uint32"}.get(np.dtype(dtype).name)
    return narrowed or name_of(dtype)


def _kernel_inputs(module: ReferenceModule, drawn: Sequence[Any]) -> Record:
    """What ``transform_to_nki_inputs`` makes of the inputs: the same, other shapes of them, or something else."""
    transform = module.function("transform_to_nki_inputs")
    if transform is None:
        return {"kind": "same"}
    try:
        given = list(transform([np.array(i) if is_array(i) else i for i in drawn]))
    except Exception as error:
        return {"kind": "fails", "why": f"{type(error).__name__}: {error}"}
    shapes = [list(item.shape) if is_array(item) else None for item in given]
    if len(given) == len(drawn) and all(map(_reshaped, given, drawn)):
        same = all(not is_array(g) or g.shape == d.shape for g, d in zip(given, drawn, strict=True))
        return {"kind": "same"} if same else {"kind": "reshaped", "shapes": shapes}
    return {"kind": "other", "arguments": [_described(item) for item in given]}


def _reshaped(given: Any, drawn: Any) -> bool:
    if not is_array(given) or not is_array(drawn):
        return given is drawn or bool(given == drawn)
    return given.size == drawn.size and np.array_equal(given.ravel(), drawn.ravel())


def _run_once(module: ReferenceModule, drawn: Sequence[Any]) -> Record:
    counting = Arithmetic(dtype=np.float64)
    exact = module.forward(drawn, counting)
    try:
        dtypes = [_trainium(output.dtype) for output in module.plain(drawn)]
    except ReferenceFault:
        floats = [_trainium(i.dtype) for i in drawn if is_array(i) and i.dtype.kind in "fV"]
        dtypes = [floats[0] if floats and o.dtype.kind == "f" else _trainium(o.dtype) for o in exact]
    outputs = [{"shape": list(o.shape), "dtype": d} for o, d in zip(exact, dtypes, strict=True)]
    return {"outputs": outputs, "matmul_flops": counting.matmul_flops, "vector_flops": counting.vector_flops}


# yardsticks ----------------------------------------------------------------------------------------------------------


def yardsticks(module: ReferenceModule, request: Record, folder: Path) -> Record:
    """Measure cases; ``<key>.npz`` is written for each, and ``<key>.inputs.npz`` where inputs must be sent along."""
    bench = _Bench(module, request, folder)
    return {"cases": [bench.measure(case) for case in request["cases"]]}


class _Bench:
    """One shape set of one reference, and the honest runs on it."""

    def __init__(self, module: ReferenceModule, request: Record, folder: Path) -> None:
        self.module, self.folder = module, folder
        self.arguments: list[Record] = request["arguments"]
        self.dtypes: list[str] = request["dtypes"]
        self.precision: str = request["precision"]
        self.noise: float = request["noise"]
        self.own_by_reference: bool = request["own_draws"] == "reference"
        self.given: list[Any] | None = request["given"]
        """Shapes of the kernel's arguments; None where only the module's own transform can make them."""

    def measure(self, case: Record) -> Record:
        """Find the scale at which the case is admissible, and keep its yardstick; for a probe, find a place first."""
        if case.get("probe"):
            return self._probe(case)
        turns = 1 if case["family"] == "own" else case.get("halvings") or HALVINGS
        scales = [float(case.get("scale", 1.0)) * 0.5**n for n in range(turns)]
        for scale in scales:
            drawn = self.draw({**case, "scale": scale})
            found = self._judge(drawn, int(case["seed"]))
            if found is not None and (found.admissible or (case["family"] == "own" and found.finite)):
                return self._keep(case, drawn, found, scale, [])
        return {"key": case["key"], "admissible": False}

    def draw(self, case: Record) -> dict[str, Any]:
        """The reference's arguments by name, scalars among them."""
        if case["family"] == "own" and self.own_by_reference:
            drawn = dict(zip([a["name"] for a in self.arguments], self.module.get_inputs(case["seed"]), strict=True))
            return {name: self._cast(name, item) for name, item in drawn.items()}
        arrays = draw({"inputs": self.arguments}, {**case, "probes": ()})
        return {a["name"]: _scalar(a) if a["shape"] is None else arrays[a["name"]] for a in self.arguments}

    def _cast(self, name: str, item: Any) -> Any:
        if not is_array(item):
            return item
        from nki_anvil.sim.dtypes import numpy_dtype

        return item.astype(numpy_dtype(next(a["dtype"] for a in self.arguments if a["name"] == name)))

    def _judge(self, drawn: dict[str, Any], seed: int) -> Yardstick | None:
        """None where the exact result itself is not finite and there is no point in going on."""
        inputs = list(drawn.values())
        exact_how = Arithmetic(dtype=np.float64)
        exact = self.module.forward(inputs, exact_how)
        self._check(exact)
        if not all(np.isfinite(r).all() for r in exact):
            return None
        rng = np.random.default_rng(seed)
        elements = sum(np.size(i) for i in inputs) + sum(r.size for r in exact)
        large = exact_how.matmul_flops > LARGE_FLOPS or elements > LARGE_ELEMENTS
        honest = [self._honest(inputs, how) for how in self._arithmetics(large, rng)]
        moved = [self.module.forward(self._disturbed(inputs, rng), Arithmetic(dtype=np.float64)) for _ in range(2)]
        return yardstick.measure(
            exact, honest, moved, dtypes=self.dtypes, precision=self.precision,
            rowwise=exact_how.matmul_flops == 0, large=large,
        )  # fmt: skip

    def _check(self, outputs: list[Array]) -> None:
        if len(outputs) != len(self.dtypes):
            raise ReferenceFault(f"forward returned {len(outputs)} outputs, and {len(self.dtypes)} when it was opened.")

    def _arithmetics(self, large: bool, rng: np.random.Generator) -> list[Arithmetic]:
        operand = _rounding("tfloat32") if self.precision == "tfloat32" else None
        plain = Arithmetic(operand=operand)
        orders = ("slabs",) if large else ("sequential", "reversed", "slabs")
        ordered = [
            Arithmetic(order=order, noise=self.noise, rng=rng, operand=operand, fast_slabs=large) for order in orders
        ]
        return [plain, *ordered]

    def _honest(self, inputs: list[Any], how: Arithmetic) -> list[Array]:
        """A float32 run of inputs and outputs rounded as the problem declares."""
        reduced = self.precision not in ("float32", "tfloat32")
        given = [_rounded(i, self.precision) if reduced else i for i in inputs]
        outputs = self.module.forward(given, how)
        return [_rounded(o, dtype) for o, dtype in zip(outputs, self.dtypes, strict=True)]

    def _disturbed(self, inputs: list[Any], rng: np.random.Generator) -> list[Any]:
        u = limits.UNIT_ROUNDOFF["tfloat32" if self.precision == "tfloat32" else "float32"]
        return [
            i.astype(np.float64) * (1 + u * rng.uniform(-1, 1, i.shape)) if _is_float(i) else i for i in inputs
        ]  # fmt: skip

    def _keep(
        self, case: Record, drawn: dict[str, Any], found: Yardstick, scale: float, probes: list[Record]
    ) -> Record:
        yardstick.save(found, self.folder / f"{case['key']}.npz")
        given = self._given(drawn)
        uploaded = self.given is None or (case["family"] == "own" and self.own_by_reference)
        if uploaded:
            np.savez(self.folder / f"{case['key']}.inputs.npz", **{n: _storable(a) for n, a in given.items()})  # type: ignore[arg-type]
        return {
            "key": case["key"], "admissible": True, "scale": scale, "uploaded": uploaded, "probes": probes,
            "inputs_digest": digest(given),
        }  # fmt: skip

    def _given(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """The kernel's arrays by name: the drawn ones in the kernel's shapes, or what the module's transform makes."""
        if self.given is not None:
            pairs = zip(drawn.items(), self.given, strict=True)
            return {name: item.reshape(shape) for (name, item), shape in pairs if is_array(item)}
        transform = self.module.function("transform_to_nki_inputs")
        given: list[Any] = list(transform(list(drawn.values()))) if transform else []
        return {f"input{p}": np.ascontiguousarray(i) for p, i in enumerate(given) if is_array(i)}

    def _probe(self, case: Record) -> Record:
        """Disturb one element; keep the first place, of a few tried, to which the exact result answers clearly."""
        rng = np.random.default_rng([int(case["seed"]), int(case["probe"]["turn"])])
        drawn = self.draw(case)
        base = self._judge(drawn, int(case["seed"]))
        name = case["probe"]["input"]
        if base is None:
            return {"key": case["key"], "admissible": False}
        for _ in range(PROBE_TRIES):
            probed, probe = _disturb(drawn, name, bool(case["probe"]["edge"]), rng, self._domain(name))
            exact = self.module.forward(list(probed.values()), Arithmetic(dtype=np.float64))
            if _answers(base, exact):
                found = self._judge(probed, int(case["seed"]))
                if found is not None and found.admissible:
                    return self._keep(case, probed, found, 1.0, [probe])
        return {"key": case["key"], "admissible": False}

    def _domain(self, name: str) -> str:
        return str(next(a.get("domain", "real") for a in self.arguments if a["name"] == name))


def _answers(base: Yardstick, exact: list[Array]) -> bool:
    """Whether some row moved by PROBE_ANSWER times what it may be wrong."""
    for expected, r in zip(base.outputs, exact, strict=True):
        if not np.isfinite(r).all():
            return False
        for use in limits.compare(expected, r, 1.0, own=True):
            if use.limit.startswith(("rows", "tile", "all elements")) and use.share >= PROBE_ANSWER:
                return True
    return False


def _disturb(
    drawn: dict[str, Any], name: str, edge: bool, rng: np.random.Generator, domain: str
) -> tuple[dict[str, Any], Record]:
    """One element set to its row's maximum and five standard deviations more, at an edge or anywhere."""
    array = np.array(drawn[name])
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    row = _position(len(rows), edge, rng)
    column = _position(rows.shape[1], edge, rng)
    numbers = rows[row].astype(np.float64)
    wanted = float(numbers.max() + 5 * max(float(numbers.std()), 1e-3))
    rows[row, column] = min(wanted, 1.0) if domain in ("unit", "probability") else wanted
    probe = {"input": name, "index": row * rows.shape[1] + column, "value": float(rows[row, column])}
    return {**drawn, name: array}, probe


def _position(length: int, edge: bool, rng: np.random.Generator) -> int:
    places = [*EDGES, length // 2 - 1, length // 2, length // 2 + 1, length - 2, length - 1]
    inside = [place for place in places if 0 <= place < length]
    return int(rng.choice(inside)) if edge else int(rng.integers(length))


def _scalar(argument: Record) -> Any:
    return int(argument["value"]) if argument["dtype"] == "int" else float(argument["value"])


def _is_float(item: Any) -> bool:
    return is_array(item) and (item.dtype.kind == "f" or "float" in item.dtype.name)


def _rounding(precision: str) -> Callable[[Array], Array]:
    return lambda array: limits.rounded(array.astype(np.float64), precision).astype(array.dtype)


def _rounded(item: Any, precision: str) -> Any:
    if not _is_float(item) or precision not in limits.UNIT_ROUNDOFF or precision == "float32":
        return item
    return limits.rounded(item.astype(np.float64), precision).astype(np.float32)


def _storable(array: Array) -> Array:
    """NumPy's files know no ml_dtypes: those are stored as the bits they are."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" or "float8" in array.dtype.name else array


# structure -----------------------------------------------------------------------------------------------------------


def structure(module: ReferenceModule, request: Record, _folder: Path) -> Record:
    """What kind of function it is, found in float64: which inputs count, and which pair it multiplies and contracts."""
    bench = _Bench(module, request, _folder)
    drawn = bench.draw({"seed": request["seeds"][0], "family": "own"})
    other = bench.draw({"seed": request["seeds"][1], "family": "own"})

    def exact(inputs: dict[str, Any]) -> list[Array]:
        return module.forward(list(inputs.values()), Arithmetic(dtype=np.float64))

    base = exact(drawn)
    arrays = [name for name, item in drawn.items() if is_array(item)]
    counts = {name: not _equal(exact({**drawn, name: other[name]}), base) for name in arrays}
    return {
        "finite": all(bool(np.isfinite(r).all()) for r in base),
        "influence": counts,
        "constant": not any(counts.values()),
        "exact": _contraction(exact, drawn, other, base, arrays),
    }


def _equal(a: Sequence[Array], b: Sequence[Array]) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


def _close(a: Sequence[Array], b: Sequence[Array]) -> bool:
    return all(
        np.linalg.norm(np.subtract(x, y)) <= 1e-9 * (np.linalg.norm(y) + 1e-300) for x, y in zip(a, b, strict=True)
    )


def _contraction(
    exact: Callable[[dict[str, Any]], list[Array]],
    drawn: dict[str, Any],
    other: dict[str, Any],
    base: list[Array],
    arrays: list[str],
) -> Record | None:
    """For a function linear in each of exactly two arrays: their contracted axes, found by permuting both alike."""
    if len(arrays) != 2 or len(drawn) != 2 or not all(_is_float(drawn[name]) for name in arrays):
        return None
    for name in arrays:
        changed = exact({**drawn, name: other[name]})
        both = exact({**drawn, name: drawn[name].astype(np.float64) + other[name]})
        if not _close(both, [a + b for a, b in zip(base, changed, strict=True)]):
            return None
    left, right = arrays
    for i, n in enumerate(drawn[left].shape):
        for j, m in enumerate(drawn[right].shape):
            order = [n - 1, *range(n - 1)]
            if n == m and n > 1:
                moved = {left: np.take(drawn[left], order, axis=i), right: np.take(drawn[right], order, axis=j)}
                if _close(exact(moved), base):
                    return {"left": left, "left_axis": i, "right": right, "right_axis": j}
    return None


OPERATIONS: Final[dict[str, Callable[[ReferenceModule, Record, Path], Record]]] = {
    "inspect": inspect,
    "yardsticks": yardsticks,
    "structure": structure,
    "benchmark": timed,
}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)
