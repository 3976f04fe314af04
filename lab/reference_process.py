"""What the process does in which a reference runs; ``reference_start`` begins it.

It answers one request (``request.json`` in the folder) with ``answer.json`` and arrays beside it. What the reference
prints or does to the process has no authority: without an answer there is none. It must start fast: NumPy and no more.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from nki_anvil.backends.room import is_lack_of_room
from nki_anvil.backends.worker import isolation, masked
from nki_anvil.backends.worker.arguments import is_whole, whole_range
from nki_anvil.backends.worker.arrays import read_all
from nki_anvil.lab import bendable, draw_order, from_source, own_modules
from nki_anvil.lab.arithmetic import Arithmetic, is_array
from nki_anvil.lab.bent_draws import copied
from nki_anvil.lab.combined import combined
from nki_anvil.lab.footprint import Footprint
from nki_anvil.lab.gathering import gathered
from nki_anvil.lab.honest_runs import is_float, is_large
from nki_anvil.lab.measuring import Measuring
from nki_anvil.lab.nkibench.reference_side import timed
from nki_anvil.lab.pinned_files import Pinned
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.transformed import reshaped, transformed
from nki_anvil.lab.unpinnable import Unpinnable
from nki_anvil.lab.updates import updates
from nki_anvil.sim.dtypes import name_of

Array = np.ndarray[Any, Any]
Record = dict[str, Any]

SIZES: Final = (1e6, 1e-6)
"""How much larger, and smaller, what is multiplied has to be multiplied alike."""
FURTHER: Final = 6
"""Draws more that are tried where no input counts."""
MORE: Final = 64
SECONDS: Final = 0.5
"""Further draws that are looked at for numbers that differ, and for how long."""


def main(folder: Path) -> None:
    isolation.die_with_parent()
    request = json.loads((folder / "request.json").read_text())
    _limit_memory(int(request["memory_bytes"]))
    for case in request.get("cases", ()):
        if "given" in case:  # no file of the reference's
            case["given"] = read_all(case["given"])
    footprint = Footprint(Path(request["reference"]), hears=request["pinned"] is None)
    from_source.import_own(footprint.installed)
    own_modules.serve(footprint.folder, footprint.installed)
    unpinnable = Unpinnable()
    pinned = None if request["pinned"] is None else Pinned(request["pinned"], footprint.installed)
    try:
        module = ReferenceModule(Path(request["reference"]), request.get("dims") or {}, request["digest"])
        answer = OPERATIONS[request["operation"]](module, request, folder)
        unpinnable.refuse()
        if pinned is None:
            answer |= {"beside": footprint.files(), "left": footprint.left()}
        else:
            pinned.refuse()
    except ReferenceFault as fault:
        answer = {"fault": str(fault)}
    except MemoryError:
        answer = {"fault": f"The reference needs more than {request['memory_bytes'] >> 20} MiB of memory."}
    except Exception as error:
        if is_lack_of_room(error):
            raise
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
    names = _names(module, len(draws[0]))
    arrays = {name: place for place, name in enumerate(names) if is_array(draws[0][place])}
    mutable = {name: arrays[name] for name in request.get("mutable", ()) if name in arrays}
    answer: Record = {
        "names": names,
        "constants": module.constants,
        "draws": [[_described(item) for item in drawn] for drawn in draws],
        "kernel_inputs": _kernel_inputs(module, draws, mutable),
    }
    if request.get("forward"):
        answer |= _run_once(module, draws[0]) | updates(module, draws, mutable)
        answer["numbers"] = _numbers(module, draws)
    return answer


def _numbers(module: ReferenceModule, draws: Sequence[Sequence[Any]]) -> dict[str, list[float]]:
    """By argument that is a number, what it is in these draws, and in more as long as there is time."""
    places = [place for place, item in enumerate(draws[0]) if not is_array(item)]
    seen, until = [*draws], time.monotonic() + SECONDS
    while places and len(seen) < MORE and time.monotonic() < until:
        seen.append(module.get_inputs(MORE + len(seen)))
    names = _names(module, len(draws[0]))
    return {
        names[at]: sorted({float(drawn[at]) for drawn in seen if at < len(drawn) and not is_array(drawn[at])})
        for at in places
    }


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
    facts |= draw_order.facts(numbers)
    digest = hashlib.sha256(item.tobytes()).hexdigest()
    dtype = _trainium(item.dtype)
    return {"dtype": dtype, "numpy": item.dtype.name, "shape": list(item.shape), "digest": digest, **facts}


def _trainium(dtype: Any) -> str:
    """The nearest Trainium format: float64 and int64 are what NumPy makes when nobody asked for them."""
    narrowed = {"float64": "float32", "int64": "int32", "uint64": "uint32"}.get(np.dtype(dtype).name)
    return narrowed or name_of(dtype)


def _kernel_inputs(module: ReferenceModule, draws: Sequence[Sequence[Any]], mutable: dict[str, int]) -> Record:
    found, made = transformed(module, draws, mutable)
    return {**found, "arguments": [_described(item) for item in made]}


def _run_once(module: ReferenceModule, drawn: Sequence[Any]) -> Record:
    counting = Arithmetic(dtype=np.float64)
    exact = module.forward(drawn, counting)
    try:
        dtypes = [_trainium(output.dtype) for output in module.plain(copied(drawn))]
    except ReferenceFault:
        floats = [_trainium(i.dtype) for i in drawn if is_array(i) and i.dtype.kind in "fV"]
        dtypes = [floats[0] if floats and o.dtype.kind == "f" else _trainium(o.dtype) for o in exact]
    outputs = [{"shape": list(o.shape), "dtype": d} for o, d in zip(exact, dtypes, strict=True)]
    work = {"matmul_flops": counting.matmul_flops, "vector_flops": counting.vector_flops}
    told = {"compared": sorted(counting.compared | module.compared), "kernel_outputs": _kernel_outputs(module, exact)}
    return {"outputs": outputs, **told, **work}


def _kernel_outputs(module: ReferenceModule, outputs: Sequence[Array]) -> Record:
    """What ``transform_nki_outputs`` makes of what kernels return: the same elements, of whatever shape, or else."""
    transform = module.function("transform_nki_outputs")
    if transform is None:
        return {"kind": "same"}
    if module.chooses(transform.__name__):
        return {"kind": "other", "why": "it decides by what it is given, and may do so for shapes that nobody asks for"}
    counted: Array = 0.25 + np.arange(float(sum(output.size for output in outputs)))
    counted *= np.where(np.arange(counted.size) % 2, -1.0, 1.0)
    ends = np.cumsum([output.size for output in outputs])
    parts: list[Array] = np.split(counted, ends[:-1])
    numbered = [part.reshape(output.shape) for part, output in zip(parts, outputs, strict=True)]
    kinds: list[str] = []
    for shapes in _other_shapes([output.shape for output in outputs]):
        given = [one.reshape(shape) for one, shape in zip(numbered, shapes, strict=True)]
        try:
            made = _arrays(transform(_one_or_all(given), _one_or_all(outputs)))
        except Exception as error:
            kinds.append(f"{type(error).__name__}: {error}")
            continue
        if len(made) != len(numbered) or not all(map(reshaped, made, numbered)):
            return {"kind": "other", "why": "it changes or moves elements"}
        kinds.append("" if all(m.shape == o.shape for m, o in zip(made, outputs, strict=True)) else "another shape")
    if kinds[0]:
        return {"kind": "other", "why": f"of results in forward's own shapes it makes {kinds[0]}"}
    return {"kind": "same" if any(kinds) else "reshaped"}


def _other_shapes(shapes: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Those of forward's outputs, then others of as many elements: flat, with axes more, turned round, split in two."""
    yield [*shapes]
    yield [(prod(shape),) for shape in shapes]
    yield [(1, *shape) for shape in shapes]
    yield [shape[::-1] for shape in shapes]
    for axis in range(max(map(len, shapes), default=0)):
        for first in (True, False):
            yield [_split(shape, axis, first) for shape in shapes]


def _split(shape: tuple[int, ...], axis: int, first: bool) -> tuple[int, ...]:
    if axis >= len(shape) or shape[axis] % 2:
        return shape
    halves = (2, shape[axis] // 2) if first else (shape[axis] // 2, 2)
    return (*shape[:axis], *halves, *shape[axis + 1 :])


def _arrays(made: Any) -> list[Array]:
    many: Sequence[Any] = cast("Sequence[Any]", made) if isinstance(made, (list, tuple)) else [made]
    return [np.asarray(one) for one in many]


def _one_or_all(arrays: Sequence[Array]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


# yardsticks ----------------------------------------------------------------------------------------------------------


def yardsticks(module: ReferenceModule, request: Record, folder: Path) -> Record:
    """Measure cases; ``<key>.npz`` is written for each, and ``<key>.inputs.npz`` where inputs must be sent along."""
    measuring = Measuring(module, request, folder)
    measured = [measuring.measure(case) for case in request["cases"]]
    return {"cases": measured, "sides": measuring.sides, "lessers": measuring.lessers.seen}


# structure -----------------------------------------------------------------------------------------------------------


def structure(module: ReferenceModule, request: Record, folder: Path) -> Record:
    """What kind of function it is, found in float64: which inputs count, and which pair it multiplies and contracts."""
    measuring = Measuring(module, request, folder)
    drawn = measuring.draw({"seed": request["seeds"][0], "family": "own"})
    other = measuring.draw({"seed": request["seeds"][1], "family": "own"})

    def exact(inputs: dict[str, Any]) -> list[Array]:
        return measuring.runs.exact(list(measuring.bending.in_order(inputs).values()))[0]

    base, work = measuring.runs.exact(list(drawn.values()))
    arrays = [name for name, item in drawn.items() if is_array(item)]
    large = is_large(work, [*drawn.values(), *base])
    counts = {name: not _equal(exact({**drawn, name: other[name]}), base) for name in arrays}
    for turn in range(1, 1 + FURTHER):
        if not any(counts.values()):  # two graphs may both be all of one piece
            third = measuring.draw({"seed": request["seeds"][1] ^ turn, "family": "own"})
            counts = {name: not _equal(exact({**drawn, name: third[name]}), base) for name in arrays}
    for argument in measuring.arguments:
        if not counts.get(argument["name"], True):
            named = _with_named(argument, drawn[argument["name"]])
            counts[argument["name"]] = any(not _equal(exact({**drawn, argument["name"]: n}), base) for n in named)
    return {
        "finite": all(bool(np.isfinite(r).all()) for r in base),
        "influence": counts,
        "constant": not any(counts.values()),
        "repeats": _alike(exact(drawn), base),
        "ordered": _alike(measuring.runs.turned(list(drawn.values())), base),
        "leaves_open": work.leaves_open,
        "exact": None if work.decides else _contraction(exact, drawn, other, base, arrays),
        "gathered": {name: gathered(exact, (drawn, other), name) for name in arrays},
        "combined": [] if large else combined(exact, drawn, [name for name in arrays if is_float(drawn[name])]),
        "met": {} if large else bendable.families(measuring, work, drawn, other),
        "large": large,
        "elements": work.vector_flops + work.matmul_flops,
        "peak_bytes": _peak_bytes(),
    }


def _with_named(argument: Record, own: Array) -> Iterator[Array]:
    """An own draw of integers with numbers that the problem names in every second place, as padding tokens are: chance
    may draw none of these."""
    if is_whole(argument):
        every_second: Array = (cast(Any, np).arange(own.size) % 2 == 1).reshape(own.shape)
        for number in masked.numbers(whole_range(argument)):
            yield np.where(every_second, number, own).astype(own.dtype)


def _peak_bytes() -> int:
    """What this process has had in memory at most; nothing where the system does not tell."""
    with contextlib.suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)
    return 0


def _equal(a: Sequence[Array], b: Sequence[Array]) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


def _alike(a: Sequence[Array], b: Sequence[Array]) -> bool:
    return all(np.allclose(x, y, 1e-9, equal_nan=True) for x, y in zip(a, b, strict=True))


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
    """For a function linear in each of exactly two arrays: their contracted axes, found by permuting both alike.

    What is limited or clipped beyond own draws is linear on these alone, so each array is tried far larger and smaller.
    """
    if len(arrays) != 2 or len(drawn) != 2 or not all(is_float(drawn[name]) for name in arrays):
        return None
    for name in arrays:
        changed = exact({**drawn, name: other[name]})
        both = exact({**drawn, name: drawn[name].astype(np.float64) + other[name]})
        if not _close(both, [a + b for a, b in zip(base, changed, strict=True)]):
            return None
        for size in SIZES:
            if not _close(exact({**drawn, name: size * drawn[name].astype(np.float64)}), [size * a for a in base]):
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
