"""The secret pool of cases of one problem version: inputs by seed and family, and yardsticks, outside the workspace.

It knows the reference and no kernel. Several processes may use one pool: files are replaced whole, under a lock.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import monotonic
from typing import Any, Final

import anyio.to_thread
import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from nki_anvil.backends import scratch
from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.errors import PathUnwritable, ProblemInvalid, StateDamaged
from nki_anvil.backends.job import Case, Probe, Record
from nki_anvil.backends.worker import arrays, inputs
from nki_anvil.lab import families, measuring_groups, yardstick_file
from nki_anvil.lab.at_once import at_once
from nki_anvil.lab.lesser_references import untold
from nki_anvil.lab.planned_case import Plan
from nki_anvil.lab.problem_checks import Structure, check
from nki_anvil.lab.reference import Reference
from nki_anvil.lab.sides import Sides, joined, untaken
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.yardstick import Yardstick
from nki_anvil.sim.dtypes import numpy_dtype

FORMAT: Final = 90
"""Of a pool on disk; a pool of another format is made anew."""

NOISE: Final = 2.0**-22
"""Relative error of an engine's approximated functions, for the simulator; devices are measured by ``selftest``."""

GROWN: Final = 64
"""A pool keeps this many cases beyond those it was made with."""
TURNS: Final = 1 << 10
"""Of peaks that are drawn fresh: at wide inputs each takes other columns."""
DRAWN_AGAIN: Final = 3
"""How many of those each full verification draws."""


class Pooled(Record):
    """One case that is kept, without its inputs."""

    case: Case
    inputs_digest: str
    base: bool = True
    """Made with the pool and part of every full verification."""


class Index(Record):
    """What a pool's folder holds."""

    format: int = FORMAT
    structure: dict[str, Any]
    cases: tuple[Pooled, ...] = ()
    skipped: dict[str, int] = Field(default_factory=dict)
    """By family: cases that no magnitude made admissible."""
    sides: dict[str, int] = Field(default_factory=dict)
    """What the reference's conditions came to in its cases."""
    lessers: dict[str, int] = Field(default_factory=dict)
    """Of what it could do without, whether any of its cases told."""


@dataclass(slots=True)
class Pool:
    """Cases in ``<data>/cases/<problem version>/<shape set>/``; made once, grows with each full verification."""

    specification: Specification
    data: Path
    lots: int = 1
    """So many times as many cases of kinds that are drawn by lot."""
    reference: Reference = field(init=False)
    _sides: Sides = field(default_factory=dict[str, int], init=False)
    _lessers: Sides = field(default_factory=dict[str, int], init=False)

    def __post_init__(self) -> None:
        known = self.specification
        self.reference = Reference(
            Path(known.reference), known.reference_digest, known.reference_beside, place=self.data / "asked"
        )

    async def prepare(self, random: np.random.Generator, report: Report = silent) -> tuple[str, ...]:
        """Make the first cases where there are none. Returns the problem's warnings; raises ProblemInvalid."""
        warnings: tuple[str, ...] = ()
        seen: Sides = {}
        lessers: Sides = {}
        for shapes in self.shape_sets():
            index = await self._index(shapes)
            if index is None:
                index = await self._make(shapes, random, report)
            warnings += self._checked(_structure(index))
            warnings += tuple(f"{count} cases of {f} were skipped." for f, count in index.skipped.items() if count > 4)
            joined(seen, index.sides)
            joined(lessers, index.lessers)
        return tuple(dict.fromkeys([*warnings, *untaken(seen), *untold(lessers)]))

    async def made(self) -> bool:
        """Whether every shape set has its first cases."""
        return all([await self._index(shapes) is not None for shapes in self.shape_sets()])

    def publish(self, data: Path) -> None:
        """Give the first cases to the pool in ``data``; where one was made there meanwhile, its cases hold."""
        kept = Pool(self.specification, data)
        for shapes in self.shape_sets():
            index = _read_index(self._folder(shapes) / "index.json")
            if index is not None:
                kept._take(self._folder(shapes), shapes, index.cases)
                kept._establish(shapes, index)

    def shape_sets(self) -> list[str]:
        """Those that get every gate, and the timed one."""
        return list(dict.fromkeys([*self.specification.verify, self.specification.timed]))

    async def draw(self, random: np.random.Generator, *, full: bool = True, report: Report = silent) -> list[Pooled]:
        """The cases of one verification; the pool is made first where it is not there."""
        await self.prepare(random, report)
        chosen: list[Pooled] = []
        for shapes in self.shape_sets():
            index = await self._index(shapes)
            kept = index.cases if index else ()
            if not full:
                chosen += [p for p in kept if p.case.family == "own" and not p.case.probes][:2]
                continue
            grown = [p for p in kept if not p.base]
            again = random.permutation(len(grown))[:DRAWN_AGAIN]
            chosen += [p for p in kept if p.base] + [grown[i] for i in again]
        return chosen if full else chosen[:2]

    async def fresh(self, random: np.random.Generator, like: Sequence[Pooled]) -> list[Case]:
        """Cases that have never been, all of one shape set.

        An own draw, or, as often, a family at the scale of one that is kept; and peaks where those are kept, for which
        column a row has its peak in is chance: what one pool does not hold the next verification may. What hangs on the
        reference nobody else can draw.
        """
        drawn = [p.case for p in like if p.base and not p.case.probes]
        bases = [case for case in drawn if not inputs.is_met(case.family)] or [Case(key="", seed=0)]
        own = [case for case in bases if case.family == "own"] or bases
        base = own[0] if random.random() < 0.5 else bases[int(random.integers(len(bases)))]
        peaks = [case for case in bases if case.family.startswith("peaks") and case.shapes == base.shapes]
        turn = {"family": f"peaks/{int(random.integers(TURNS))}"}
        chosen = [base, *(case.model_copy(update=turn) for case in peaks[:1])]
        indexes = [await self._index(shapes) for shapes in self.shape_sets()]
        taken = {p.case.key for index in indexes if index for p in index.cases}
        keys = [next(key for key in iter(lambda: _key(random), "") if key not in taken) for _ in chosen]
        changes = [{"key": key, "seed": _seed(random), "uploaded": False} for key in keys]
        return [case.model_copy(update=change) for case, change in zip(chosen, changes, strict=True)]

    async def add(self, cases: Sequence[Case]) -> list[Pooled]:
        """Measure fresh cases of one shape set and keep them, while there is room; those that are not admissible go."""
        plans = [Plan(case.family, case.only) for case in cases]
        answers, _ = await self._measure(cases[0].shapes, cases, plans, keep_scale=True)
        added = [answer.model_copy(update={"base": False}) for answer in answers if answer is not None]
        await anyio.to_thread.run_sync(self._grow, cases[0].shapes, added)
        return added

    async def given(self, cases: Sequence[Case], inputs_of: Sequence[dict[str, NDArray[Any]]]) -> list[Pooled]:
        """Measure cases of one shape set whose arrays are given; they are kept for those who hold them alone."""
        async with scratch.aside(self.data / "given", "cases-") as folder:
            paths = [str(folder / f"{case.key}.npz") for case in cases]
            for path, held in zip(paths, inputs_of, strict=True):
                await anyio.to_thread.run_sync(_save, path, held)
            plans = [Plan(case.family, case.only) for case in cases]
            answers, _ = await self._measure(cases[0].shapes, cases, plans, keep_scale=True, given=paths)
        return [answer for answer in answers if answer is not None]

    async def yardstick(self, case: Case) -> Yardstick:
        path = self._folder(case.shapes) / f"{case.key}.npz"
        try:
            return await anyio.to_thread.run_sync(yardstick_file.load, path)
        except (OSError, ValueError, KeyError) as error:
            message = f"A kept case cannot be read: {path} ({error})."
            raise StateDamaged(message, "Remove that file; the cases are made anew.") from error

    async def arrays(self, pooled: Pooled) -> dict[str, NDArray[Any]]:
        """The kernel's arrays of a case: as they were kept, or drawn again."""
        return await anyio.to_thread.run_sync(self._arrays, pooled.case)

    # ---------------------------------------------------------------------------------------------------------------

    def _folder(self, shapes: str) -> Path:
        return self.data / "cases" / self.specification.version[:32] / shapes

    def _checked(self, structure: Structure) -> tuple[str, ...]:
        declared = self.specification.own_draws == "inputs" and not self.specification.inferred
        return check(structure, self.specification.name, declared=declared)

    async def _index(self, shapes: str) -> Index | None:
        return await anyio.to_thread.run_sync(_whole_index, self._folder(shapes) / "index.json")

    async def _make(self, shapes: str, random: np.random.Generator, report: Report) -> Index:
        """Plan, measure and write the first cases; whoever comes second finds them made."""
        await report(f"looking at the reference at the shape set {shapes}")
        seeds, begun = [_seed(random), _seed(random)], monotonic()
        async with self.reference.ask("structure", **self._request(shapes), seeds=seeds) as (found, _):
            structure = {field.name: found[field.name] for field in fields(Structure)}
        found["seconds"] = monotonic() - begun
        self._checked(Structure(**structure))
        plans = families.plans(
            self.specification,
            shapes,
            structure["exact"],
            found["gathered"],
            found["combined"],
            found["met"],
            large=bool(found["large"]),
            lots=self.lots,
        )
        cases = [_planned(plan, shapes, random, found["gathered"]) for plan in plans]
        answers, own_failed = await self._measure_all(shapes, cases, plans, found, report)
        if own_failed:
            message = f"The reference of {self.specification.name} is not finite in float32 on its own inputs."
            raise ProblemInvalid(message, "Change get_inputs or forward so that float32 can hold every step.")
        skipped: dict[str, int] = {}
        for plan, answer in zip(plans, answers, strict=True):
            if answer is None:
                family = "probe" if plan.probe else plan.family.partition("/")[0]
                skipped[family] = skipped.get(family, 0) + 1
        index = Index(
            structure=structure, cases=tuple(a for a in answers if a is not None), skipped=skipped,
            sides=self._sides, lessers=self._lessers,
        )  # fmt: skip
        return await anyio.to_thread.run_sync(self._establish, shapes, index)

    async def _measure_all(
        self, shapes: str, cases: Sequence[Case], plans: Sequence[Plan], structure: dict[str, Any], report: Report
    ) -> tuple[list[Pooled | None], bool]:
        """``_measure`` in groups, of which several work at a time where each takes long."""
        processes = measuring_groups.side_by_side(int(structure["peak_bytes"]))
        groups = measuring_groups.groups(
            plans, bool(structure["large"]), float(structure["elements"]), processes, float(structure["seconds"])
        )
        answers: list[Pooled | None] = [None] * len(cases)
        failed: list[bool] = []
        begun = 0

        async def measure(group: list[int]) -> None:
            nonlocal begun
            await report(f"measuring case {begun + 1} of {len(cases)} at the shape set {shapes}")
            begun += len(group)
            found, own = await self._measure(shapes, [cases[p] for p in group], [plans[p] for p in group])
            failed.append(own)
            for position, answer in zip(group, found, strict=True):
                answers[position] = answer

        await at_once(groups, processes, measure)
        return answers, any(failed)

    async def _measure(
        self,
        shapes: str,
        cases: Sequence[Case],
        plans: Sequence[Plan],
        keep_scale: bool = False,
        given: Sequence[str] = (),
    ) -> tuple[list[Pooled | None], bool]:
        """Yardsticks for cases, moved into the pool's folder; and whether an own draw was not finite."""
        wanted = [
            case.model_dump(mode="json") | {"probe": plan.probe, "halvings": 1 if keep_scale else None}
            for case, plan in zip(cases, plans, strict=True)
        ]
        for case, path in zip(wanted, given, strict=False):
            case["given"] = path
        async with self.reference.ask("yardsticks", **self._request(shapes), cases=wanted) as (answer, folder):
            found = [
                _pooled(case, given) if given["admissible"] else None
                for case, given in zip(cases, answer["cases"], strict=True)
            ]
            joined(self._sides, answer["sides"])
            joined(self._lessers, answer["lessers"])
            await anyio.to_thread.run_sync(self._take, folder, shapes, [p for p in found if p is not None])
        own_failed = any(
            not given["admissible"] and plan == Plan() for given, plan in zip(answer["cases"], plans, strict=True)
        )
        return found, own_failed

    def _request(self, shapes: str) -> dict[str, Any]:
        specification = self.specification
        kernel = specification.shape_sets[shapes].inputs
        other = specification.transforms and not any(spec.drawn for spec in kernel)
        dtypes = [output.dtype for output in specification.outputs["default"]]
        return {
            "dims": specification.dims.get(shapes, {}),
            "arguments": [a.model_dump(mode="json") for a in specification.reference_arguments(shapes).inputs],
            "given": None if other else [spec.shape for spec in kernel],
            "dtypes": dtypes,
            "precision": specification.precision,
            "noise": NOISE,
            "lots": specification.stochastic,
            "own_draws": specification.own_draws,
        }

    def _take(self, folder: Path, shapes: str, kept: Iterable[Pooled]) -> None:
        target = self._folder(shapes)
        with _writable(target):
            target.mkdir(parents=True, exist_ok=True)
            for pooled in kept:
                for path in folder.glob(f"{pooled.case.key}.*"):
                    _moved(path, target / path.name)

    def _establish(self, shapes: str, index: Index) -> Index:
        """Write the first index unless another process was faster; then its cases hold, and ours are removed."""
        path = self._folder(shapes) / "index.json"
        with _writable(path.parent), _locked(path):
            there = _read_index(path)
            if there is None:
                _write(path, index.model_dump_json())
                return index
        for pooled in index.cases:
            for ours in path.parent.glob(f"{pooled.case.key}.*"):
                ours.unlink(missing_ok=True)
        return there

    def _grow(self, shapes: str, added: Sequence[Pooled]) -> None:
        path = self._folder(shapes) / "index.json"
        with _writable(path.parent), _locked(path):
            index = _read_index(path)
            if index is None:
                return
            room = GROWN - sum(not p.base for p in index.cases)
            _write(path, index.model_copy(update={"cases": (*index.cases, *added[: max(0, room)])}).model_dump_json())

    def _arrays(self, case: Case) -> dict[str, NDArray[Any]]:
        shape_set = self.specification.shape_sets[case.shapes]
        kept = self._folder(case.shapes) / f"{case.key}.inputs.npz"
        if not kept.is_file():
            return inputs.draw(shape_set.model_dump(mode="json"), case.model_dump(mode="json"))
        dtypes = {spec.name: spec.dtype for spec in shape_set.inputs}
        return {name: data.view(numpy_dtype(dtypes[name])) for name, data in arrays.read_all(kept).items()}


def _save(path: str, held: dict[str, NDArray[Any]]) -> None:
    with arrays.open_to_write(path) as archive:
        for name, array in held.items():
            arrays.write(archive, name, array)


def _planned(plan: Plan, shapes: str, random: np.random.Generator, gathered: dict[str, Any]) -> Case:
    key, seed = _key(random), _seed(random)
    return Case(key=key, shapes=shapes, seed=seed, family=plan.family, only=plan.only, gathered=gathered)


def _structure(index: Index) -> Structure:
    return Structure(**index.structure)


def _pooled(case: Case, given: dict[str, Any]) -> Pooled:
    probes = tuple(Probe(**probe) for probe in given["probes"])
    changed = {"seed": given["seed"], "scale": given["scale"], "uploaded": given["uploaded"], "probes": probes}
    return Pooled(case=case.model_copy(update=changed), inputs_digest=given["inputs_digest"])


def _read_index(path: Path) -> Index | None:
    """None where there is no pool, or none of this format: it is made anew."""
    try:
        index = Index.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return index if index.format == FORMAT else None


def _whole_index(path: Path) -> Index | None:
    """An index without cases whose files are gone; where those are of the first cases, the pool is made anew."""
    index = _read_index(path)
    lost = [p for p in (index.cases if index else ()) if not _is_whole(path.parent, p.case)]
    if index is None or not lost:
        return index
    if any(p.base for p in lost):
        path.unlink(missing_ok=True)
        return None
    return index.model_copy(update={"cases": tuple(p for p in index.cases if p not in lost)})


def _is_whole(folder: Path, case: Case) -> bool:
    """Whether its yardstick is there, and its inputs where nobody but the reference can draw them."""
    kinds = ["npz", "inputs.npz"] if case.uploaded else ["npz"]
    return all((folder / f"{case.key}.{kind}").is_file() for kind in kinds)


@contextmanager
def _writable(folder: Path) -> Generator[None]:
    """Raises PathUnwritable where the disk refuses."""
    try:
        yield
    except OSError as error:
        message = f"The cases of a problem cannot be kept in {folder}: {error}."
        raise PathUnwritable(message, "Free some space there, or set NKI_ANVIL_DATA to another folder.") from error


@contextmanager
def _locked(path: Path) -> Generator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        yield


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _moved(source: Path, target: Path) -> None:
    """Rename within a file system, copy and rename across two."""
    with suppress(OSError):
        source.replace(target)
        return
    partial = target.with_name(f"{target.name}.partial")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _seed(random: np.random.Generator) -> int:
    return int(random.integers(1, 2**62))


def _key(random: np.random.Generator) -> str:
    """A name that says nothing of what the case holds."""
    return f"c{int(random.integers(2**60)):015x}"
