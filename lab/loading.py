"""From a problem folder, a ``problem.toml`` or a bare reference module to its pinned specification.

A folder declares its arguments; what a bare module takes is inferred from several of its own draws, made in the
reference's process. It must not know kernels' text, gates or backends.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from nki_anvil.backends.errors import ArgumentsInvalid, PathUnreadable, ProblemInvalid
from nki_anvil.backends.job import InputSpec, ShapeSet
from nki_anvil.backends.run import ArraySpec
from nki_anvil.lab import (
    command_problem,
    expressions,
    input_order,
    library_calls,
    marks,
    narrow_draws,
    problem_file,
    tolerances,
)
from nki_anvil.lab.problem_file import InputEntry, ProblemFile
from nki_anvil.lab.reference import Reference
from nki_anvil.lab.specification import Specification, Work
from nki_anvil.sim.chips import CHIPS
from nki_anvil.sim.dtypes import size_of

DRAWS: Final = (11, 22, 33)
"""Seeds of the draws from which a bare module's arguments are inferred."""
NEAR_ITS_ENDS: Final = 1 / 32
"""Of a format's range: how far from its ends the smallest and the largest number drawn may be, for all to be meant."""

_REMEDY: Final = "Correct it and open the problem again."


async def load(
    reference: Path,
    *,
    name: str | None = None,
    kernel: Path | None = None,
    tolerance: float | None = None,
    chip: str | None = None,
    place: Path | None = None,
) -> Specification:
    """Read a problem: a folder with a problem.toml, that file itself, or a reference module.

    ``name``, ``kernel``, ``tolerance`` and ``chip`` override what is declared; a tolerance can only be made tighter.
    The reference is asked in ``place``.
    Raises PathUnreadable, ProblemInvalid or ArgumentsInvalid, each with one sentence that says what to correct.
    """
    source = _source(reference)
    toml = problem_file.content(source) if source.suffix == ".toml" else b""
    declared = problem_file.understand(toml, source) if source.suffix == ".toml" else None
    file = declared or ProblemFile(reference=source.name, kernel="kernel.py")
    if file.e2e is not None:
        if tolerance is not None:
            raise ArgumentsInvalid("An end-to-end problem has no tolerance.", "Set accuracy_min in its [e2e] instead.")
        return command_problem.specify(_on_chip(file, chip or file.chip), toml, source, name or file.name, kernel)
    module = (source.parent / file.reference).resolve()
    if not module.is_file():
        raise PathUnreadable(f"The reference {module} is not there.", "Name it in problem.toml as reference.")
    if chip is not None or file.chip not in CHIPS:
        file = _on_chip(file, chip or file.chip)
    problem = _Problem(
        file, module, name or file.name or _default_name(source), declared is None, module.read_bytes(), toml, place
    )
    return await problem.specify(source, kernel, tolerance)


def _on_chip(file: ProblemFile, chip: str) -> ProblemFile:
    if chip not in CHIPS:
        raise ArgumentsInvalid(f"There is no chip {chip!r}.", f"Known are {', '.join(CHIPS)}.")
    return file.model_copy(update={"chip": chip})


def _source(reference: Path) -> Path:
    path = problem_file.declaring(reference.expanduser().resolve())
    if path.is_dir():
        for candidate in ("problem.toml", "reference.py"):
            if (path / candidate).is_file():
                return path / candidate
        raise PathUnreadable(
            f"{path} holds neither problem.toml nor reference.py.", "Name the problem's folder or module."
        )
    if not path.is_file():
        raise PathUnreadable(f"{path} is not there.", "Give a reference module, a problem folder, or seed:<name>.")
    if path.suffix not in (".py", ".toml"):
        raise PathUnreadable(f"{path.name} is neither Python nor TOML.", "Give a reference module or a problem.toml.")
    return path


def _default_name(source: Path) -> str:
    """The folder's name for a folder; a module's own name unless it is just called reference."""
    return source.parent.name if source.stem in ("problem", "reference") else source.stem


@dataclass(frozen=True, slots=True)
class _Problem:
    """What was read so far."""

    file: ProblemFile
    module: Path
    name: str
    bare: bool
    content: bytes
    """Of the module, read once: whoever is asked about it later must find the same."""
    toml: bytes
    """The same of problem.toml; empty where there is none."""
    place: Path | None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    async def specify(self, source: Path, kernel: Path | None, tolerance: float | None) -> Specification:
        dims = self.file.dimensions()
        seen = await self._seen(dims["default"])
        pinned = seen["beside"] | self._link(source)
        if self.bare:
            dims = {"default": seen["constants"]}
        self._refuse_unjudged(seen)
        await self._refuse_updates_apart(dims, seen)
        arguments = {shapes: await self._arguments(shapes, dims[shapes], seen) for shapes in dims}
        arguments, in_order = input_order.ordered(arguments, self.file.inputs, seen["draws"])
        numbers = marks.named(self.content)
        arguments = {
            shapes: marks.marked(found, numbers | set(dims[shapes].values()), seen["compared"])
            for shapes, found in arguments.items()
        }
        kernels, warnings = self._kernel_arguments(arguments, seen)
        outputs = tuple(ArraySpec(shape=tuple(o["shape"]), dtype=o["dtype"]) for o in seen["outputs"])
        allowed = tolerances.tolerance(self.file.tolerance, tolerance, self.file.precision, outputs)
        return Specification(
            name=self.name,
            version=_version(self.content, self.toml, allowed, self._beside(pinned)),
            reference=str(self.module),
            reference_digest=self.digest,
            declared_digest=hashlib.sha256(self.toml).hexdigest() if self.toml else "",
            reference_beside=pinned,
            kernel=str((kernel or source.parent / self.file.kernel).resolve()),
            entry=self.file.entry,
            chip=self.file.chip,
            lnc=self.file.lnc,
            nki_version=self.file.nki_version,
            precision=self.file.precision,
            tolerance=allowed,
            stochastic=self.file.stochastic,
            data_loops=self.file.data_loops,
            verify=self.file.verify,
            timed=self.file.timed,
            dims=dims,
            shape_sets=kernels,
            arguments=arguments if kernels is not arguments else {},
            outputs={"default": outputs},
            in_place=_as_given(seen),
            work={shapes: self._work(dims[shapes], arguments[shapes], outputs, seen, shapes) for shapes in dims},
            own_draws="reference" if _undeclared(self.file, seen) and not _frozen(seen) else "inputs",
            transforms=kernels is not arguments,
            reshapes=self._reshapes(seen["kernel_outputs"]),
            inferred=self.bare,
            numbers=marks.literals(self.content),
            warnings=(
                *warnings,
                *_dtype_warnings(seen),
                *library_calls.warnings(self.content),
                *in_order,
                *narrow_draws.told(arguments["default"], self.file.inputs),
                *tolerances.beyond_rounding(allowed, outputs),
                *((_FROZEN,) if _frozen(seen) else ()),
            ),
        )

    async def _seen(self, dims: Mapping[str, int]) -> dict[str, Any]:
        """What it takes and gives, on the very files that it names: where it reads others, it is asked once more.

        So it is where it left some, which it may read the next time.
        """
        asked = self._asked(dims)
        reference = Reference(self.module, self.digest, place=self.place)
        async with reference.ask("inspect", **asked) as (seen, _):
            beside, left = seen["beside"], seen["left"]
        if left:
            async with reference.ask("inspect", **asked) as (seen, _):
                beside = seen["beside"]
        _refuse_strange(beside)
        if not beside:
            return seen
        async with replace(reference, beside=beside).ask("inspect", **asked) as (seen, _):
            return {**seen, "beside": beside}

    def _asked(self, dims: Mapping[str, int]) -> dict[str, Any]:
        """What its process is told for a whole look at it."""
        mutable = [name for name, entry in self.file.inputs.items() if entry.mutable]
        return {"dims": dims, "seeds": DRAWS, "forward": True, "mutable": mutable}

    def _refuse_unjudged(self, seen: dict[str, Any]) -> None:
        """Raises ProblemInvalid for an update in place of which no output tells."""
        for name in seen["updated"]:
            message = f"forward updates {name!r}, which is mutable, in place and does not return it: nothing judges it."
            raise ProblemInvalid(message, f"Let forward, and the kernel, return {name} as well.")

    async def _refuse_updates_apart(self, dims: Mapping[str, Mapping[str, int]], seen: dict[str, Any]) -> None:
        """Raises ProblemInvalid where forward updates its arguments in place at some of the judged shapes alone."""
        if not any(entry.mutable for entry in self.file.inputs.values()):
            return
        reference = Reference(self.module, self.digest, seen["beside"], place=self.place)
        for shapes in sorted({*self.file.verify, self.file.timed} - {"default"}):
            async with reference.ask("inspect", **self._asked(dims[shapes])) as (there, _):
                if (there["in_place"], there["updated"]) != (seen["in_place"], seen["updated"]):
                    message = f"forward updates its arguments in place in another way at the shape set {shapes}."
                    raise ProblemInvalid(message, "Let it update them at all shapes, or make two problems of it.")

    def _refuse_untold(self, kept: Mapping[str, int], names: Sequence[str]) -> None:
        """Raises ProblemInvalid for a mutable argument that no input of the kernel's is."""
        for name, entry in self.file.inputs.items():
            if entry.mutable and entry.shape is not None and name in names and name not in kept:
                message = f"transform_to_nki_inputs changes {name!r}, which is mutable: kernels cannot update it."
                raise ProblemInvalid(message, f"Let it hand on {name} as it is, or leave out mutable = true.")

    def _link(self, source: Path) -> dict[str, str]:
        """The reference as it is declared, where that is a link: it may lead to another one later."""
        declared = Path(os.path.normpath(source.parent / self.file.reference))
        return {str(declared): self.digest} if declared != self.module and declared.resolve() == self.module else {}

    def _beside(self, pinned: Mapping[str, str]) -> dict[str, str]:
        """What the reference imports and reads, by path in its folder, or as it is where it lies elsewhere."""
        folder = self.module.parent
        found = {Path(file): digest for file, digest in pinned.items()}
        return {
            (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix(): digest
            for path, digest in found.items()
        }

    async def _arguments(self, shapes: str, dims: Mapping[str, int], seen: dict[str, Any]) -> ShapeSet:
        """The reference's arguments at one shape set: declared, or inferred from draws at those dimensions."""
        unknown = sorted(set(self.file.inputs) - set(seen["names"]))
        if unknown:
            message = f"problem.toml declares the input {unknown[0]!r}; forward takes {', '.join(seen['names'])}."
            raise ProblemInvalid(message, _REMEDY)
        draws = seen["draws"]
        if shapes != "default" and (_undeclared(self.file, seen) or _has_numbers(self.file, seen)):
            reference = Reference(self.module, self.digest, seen["beside"], place=self.place)
            async with reference.ask("inspect", dims=dims, seeds=DRAWS[:1]) as (there, _):
                draws = there["draws"]
        numbers: dict[str, list[float]] = seen["numbers"]
        inputs = [
            self._argument(n, [d[p] for d in draws], numbers.get(n, ()), dims) for p, n in enumerate(seen["names"])
        ]
        by_name = {spec.name: spec for spec in inputs}
        return ShapeSet(name=shapes, inputs=tuple(_indexed(spec, self.file.inputs, by_name) for spec in inputs))

    def _argument(
        self, name: str, draws: Sequence[dict[str, Any]], numbers: Sequence[float], dims: Mapping[str, int]
    ) -> InputSpec:
        inferred = _inferred(name, draws)
        entry = self.file.inputs.get(name)
        if entry is None:
            _refuse_changing(name, numbers)
            return inferred
        spec = _declared(name, entry, inferred, _mean(draws), dims)
        if inferred.shape is not None and spec.shape is None:
            message = (
                f"problem.toml gives the input {name!r} no shape, but get_inputs draws an array of {inferred.shape}."
            )
            raise ProblemInvalid(message, _REMEDY)
        return spec

    def _kernel_arguments(
        self, arguments: dict[str, ShapeSet], seen: dict[str, Any]
    ) -> tuple[dict[str, ShapeSet], list[str]]:
        """What ``transform_to_nki_inputs`` makes of the arguments; the same object where it changes nothing."""
        given = seen["kernel_inputs"]
        if given["kind"] == "same":
            return arguments, []
        if given["kind"] == "fails":
            raise ProblemInvalid(f"transform_to_nki_inputs failed: {given['why']}.", _REMEDY)
        if given["kind"] == "reshaped":
            default = _reshaped(arguments["default"], given["shapes"])
        else:
            self._refuse_untold(given["kept"], seen["names"])
            default = _made(given)
        needed = sorted({*self.file.verify, self.file.timed} - {"default"})
        if needed:
            message = f"transform_to_nki_inputs works at the default shapes only, but {needed[0]!r} is to be verified."
            raise ProblemInvalid(message, "Drop the transform, or verify and time the shape set default.")
        others = sorted(set(arguments) - {"default"})
        note = [f"transform_to_nki_inputs is applied at the shape set default only, not at {', '.join(others)}."]
        return {"default": default}, note if others else []

    @staticmethod
    def _reshapes(told: dict[str, Any]) -> bool:
        """Whether kernels may return other shapes. Raises ProblemInvalid where transform_nki_outputs does more."""
        if told["kind"] == "other":
            message = f"transform_nki_outputs does more than reshape what a kernel returns: {told['why']}."
            raise ProblemInvalid(message, "Let forward return what the kernel is to return, or reshape alone.")
        return told["kind"] == "reshaped"

    def _work(
        self,
        dims: Mapping[str, int],
        arguments: ShapeSet,
        outputs: Sequence[ArraySpec],
        seen: dict[str, Any],
        shapes: str,
    ) -> Work:
        """Declared, else counted on the reference's run at the default shapes, else unknown."""
        counted: dict[str, float | None] = {"bytes": None, "matmul_flops": None, "vector_flops": None}
        if shapes == "default":
            moved = sum(_bytes(s.shape, s.dtype) for s in arguments.inputs if s.shape is not None)
            counted = {
                "bytes": float(moved + sum(_bytes(o.shape, o.dtype) for o in outputs)),
                "matmul_flops": seen["matmul_flops"],
                "vector_flops": seen["vector_flops"],
            }
        return Work(**{field: self._declared_work(field, dims, known) for field, known in counted.items()})

    def _declared_work(self, field: str, dims: Mapping[str, int], counted: float | None) -> float | None:
        expression: str | float | None = getattr(self.file.work, field)
        if expression is None:
            return counted
        return _evaluated(f"work.{field}", expression, dims)


def _refuse_strange(beside: Mapping[str, str]) -> None:
    """Raises ProblemInvalid for a file whose name no record can hold."""
    for path in beside:
        try:
            path.encode()
        except UnicodeEncodeError as error:
            message = f"The reference reads {path!a}, whose name is no text in UTF-8."
            raise ProblemInvalid(message, "Rename it.") from error


def _undeclared(file: ProblemFile, seen: dict[str, Any]) -> bool:
    """Some array's distribution is known to get_inputs alone; so is that of integers of which no domain is told."""
    drawn = {name: item for name, item in zip(seen["names"], seen["draws"][0], strict=True) if "scalar" not in item}
    told = {name for name, entry in file.inputs.items() if not entry.is_untold(drawn.get(name, {}).get("dtype", ""))}
    return not set(drawn) <= told


def _has_numbers(file: ProblemFile, seen: dict[str, Any]) -> bool:
    """Whether some number is known to get_inputs alone, which may make it of dimensions."""
    return any(
        "scalar" in item and name not in file.inputs for name, item in zip(seen["names"], seen["draws"][0], strict=True)
    )


def _frozen(seen: dict[str, Any]) -> bool:
    """get_inputs seeds itself: several seeds, one draw."""
    return all(drawn == seen["draws"][0] for drawn in seen["draws"])


_FROZEN = "get_inputs draws the same numbers at every call; cases are drawn by what was inferred from them."


def _refuse_changing(name: str, numbers: Sequence[float]) -> None:
    """Raises ProblemInvalid for a number that is another in every draw: a kernel is traced with one."""
    if len(numbers) > 1:
        message = f"get_inputs draws the number {name!r} as {numbers[0]:g} and as {numbers[-1]:g}; a kernel knows one."
        remedy = f"Say which in problem.toml ([inputs.{name}] with value = {numbers[0]:g}), or draw an array of one."
        raise ProblemInvalid(message, remedy)


def _inferred(name: str, draws: Sequence[dict[str, Any]]) -> InputSpec:
    """Shape, dtype, sign, scale and integer-ness from several draws; a scalar keeps its value."""
    first = draws[0]
    if "scalar" in first:
        dtype = "float" if first["scalar"] == "float" else "int"
        return InputSpec(name=name, dtype=dtype, domain="constant", value=float(first["value"]))
    if any(drawn.get("shape") != first["shape"] for drawn in draws):
        raise ProblemInvalid(
            f"get_inputs draws {name!r} in changing shapes.", "Shapes must depend on the dimensions alone."
        )
    low, high = min(d["min"] for d in draws), max(d["max"] for d in draws)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ProblemInvalid(f"get_inputs draws {name!r} with values that are not finite.", _REMEDY)
    shape = tuple(first["shape"])
    mean, sigma = _mean(draws), max(d["std"] for d in draws)
    base: dict[str, Any] = {"name": name, "shape": shape, "dtype": first["dtype"]}
    if low == high:
        return InputSpec(**base, domain="constant", value=low)
    if "float" not in first["dtype"] or all(d["whole"] for d in draws):
        low, high = _all_of_its_format(first["dtype"], low, high)
        return InputSpec(**base, domain="integer", low=low, high=high)
    if low >= 0:
        return InputSpec(**base, domain="positive" if low > 0 and low > 1e-3 * mean else "nonnegative", sigma=sigma)
    return InputSpec(**base, sigma=sigma, mean=_off_centre(mean, sigma))


def _all_of_its_format(dtype: str, low: float, high: float) -> tuple[float, float]:
    """The ends of a narrow format where draws come near to both: words and bytes are any, though few are drawn."""
    ends = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}.get(dtype)
    if ends is None or max(low - ends[0], ends[1] - high) > (ends[1] - ends[0]) * NEAR_ITS_ENDS:
        return low, high
    return float(ends[0]), float(ends[1])


def _mean(draws: Sequence[dict[str, Any]]) -> float:
    return sum(drawn.get("mean", 0.0) for drawn in draws) / len(draws)


def _off_centre(mean: float, sigma: float) -> float:
    """Nothing where it is little beside the spread: so much may be chance."""
    return mean if abs(mean) > sigma / 8 else 0.0


def _declared(
    name: str, entry: InputEntry, inferred: InputSpec, drawn_mean: float, dims: Mapping[str, int]
) -> InputSpec:
    """One [inputs.<name>] at a shape set; scale and centre of the own draws come from get_inputs where not given."""
    facts: dict[str, Any] = entry.model_dump(exclude={"shape", "of", "axis", "dtype", "sigma", "mean", "order"})
    dtype = entry.dtype or inferred.dtype
    if entry.shape is None:
        constant: dict[str, Any] = {**facts, "domain": "constant", "dtype": "int" if dtype == "int" else "float"}
        return InputSpec(name=name, **constant)
    try:
        shape = tuple(expressions.integer(size, dims) for size in entry.shape)
    except ValueError as error:
        raise ProblemInvalid(f"problem.toml: inputs.{name}.shape: {error}", _REMEDY) from error
    facts |= _range(name, entry, inferred, dtype, dims)
    as_drawn = entry.domain == "real" and inferred.domain in ("real", "nonnegative", "positive")
    sigma = entry.sigma or (_rounded(inferred.sigma) if as_drawn else 1.0)
    centre = _rounded(_off_centre(drawn_mean, inferred.sigma)) if as_drawn else 0.0
    mean = centre if entry.mean is None else entry.mean
    two = "float" in dtype and inferred.domain == "integer" and (inferred.low, inferred.high) == (0, 1)
    given: dict[str, Any] = {**facts, "dtype": dtype, "sigma": sigma, "mean": mean, "zero_or_one": two}
    return InputSpec(name=name, shape=shape, **given)


def _range(name: str, entry: InputEntry, inferred: InputSpec, dtype: str, dims: Mapping[str, int]) -> dict[str, Any]:
    """The ends that are declared; of integers without a domain, those of the draws for what is not."""
    ends = {"low": entry.low, "high": entry.high}
    told = {at: _evaluated(f"inputs.{name}.{at}", end, dims) for at, end in ends.items() if end is not None}
    if not entry.is_untold(dtype):
        return told
    if inferred.domain not in ("integer", "constant"):
        message = f"problem.toml: inputs.{name} is {dtype}, but get_inputs draws numbers that are not whole."
        raise ProblemInvalid(message, 'Give it a domain, such as "integer [0, 7]", or another dtype.')
    drawn = (inferred.value, inferred.value) if inferred.domain == "constant" else (inferred.low, inferred.high)
    return {"domain": "integer", "low": drawn[0], "high": drawn[1], **told}


def _evaluated(where: str, expression: str | float, dims: Mapping[str, int]) -> float:
    try:
        return float(expressions.evaluate(expression, dims))
    except ValueError as error:
        raise ProblemInvalid(f"problem.toml: {where}: {error}", _REMEDY) from error


def _rounded(number: float) -> float:
    """Two significant digits: 0.9987 is meant as 1."""
    return float(f"{number:.2g}")


def _indexed(spec: InputSpec, entries: Mapping[str, InputEntry], specs: Mapping[str, InputSpec]) -> InputSpec:
    """An index of another input ranges over that input's axis."""
    entry = entries.get(spec.name)
    if spec.domain != "index" or entry is None or entry.of is None or spec.high is not None:
        return spec
    target = specs.get(entry.of)
    if target is None or target.shape is None or not -len(target.shape) <= entry.axis < len(target.shape):
        raise ProblemInvalid(
            f"The input {spec.name!r} indexes axis {entry.axis} of {entry.of!r}, which is not there.", _REMEDY
        )
    return spec.model_copy(update={"low": 0.0, "high": float(target.shape[entry.axis] - 1)})


def _made(given: dict[str, Any]) -> ShapeSet:
    """The kernel's arguments as a transform makes them, by number; what is mutable stays so."""
    mutable = {*given["kept"].values()}
    specs = [_inferred(f"input{at}", [item]) for at, item in enumerate(given["arguments"])]
    inputs = [spec.model_copy(update={"mutable": at in mutable}) for at, spec in enumerate(specs)]
    return ShapeSet(name="default", inputs=tuple(inputs))


def _as_given(seen: dict[str, Any]) -> dict[str, int]:
    """What is updated in place, by the names of the kernel's inputs."""
    kept: dict[str, int] = seen["kernel_inputs"].get("kept", {})
    return {f"input{kept[name]}" if name in kept else name: output for name, output in seen["in_place"].items()}


def _reshaped(arguments: ShapeSet, shapes: Sequence[Sequence[int] | None]) -> ShapeSet:
    inputs = [
        spec if shape is None else spec.model_copy(update={"shape": tuple(shape), "drawn": spec.shape})
        for spec, shape in zip(arguments.inputs, shapes, strict=True)
    ]
    return arguments.model_copy(update={"inputs": tuple(inputs)})


def _bytes(shape: Sequence[int], dtype: str) -> int:
    return math.prod(shape) * size_of(dtype)


def _dtype_warnings(seen: dict[str, Any]) -> list[str]:
    """Draws in formats that Trainium lacks are narrowed, and that is said."""
    wide = {n: d["numpy"] for n, d in zip(seen["names"], seen["draws"][0], strict=True) if "numpy" in d}
    return [
        f"get_inputs draws {name} as {numpy}, which Trainium does not have: taken as {numpy.replace('64', '32')}."
        for name, numpy in wide.items()
        if numpy.endswith("64")
    ]


def _version(module: bytes, toml: bytes, tolerance: float, beside: Mapping[str, str]) -> str:
    """The problem version: SHA-256 over the reference's source, problem.toml, the tolerance, and what it reads."""
    sha = hashlib.sha256()
    for content in (module, toml):
        sha.update(len(content).to_bytes(8, "little") + content)
    sha.update(repr(tolerance).encode())
    for name, digest in sorted(beside.items()):
        sha.update(f"\0{name}\0{digest}".encode())
    return sha.hexdigest()
