"""The honest runs of one reference on some inputs: exact, in other orders, with noise, disturbed; what they make of it.

It runs in the reference's process. It must not know how inputs are drawn, nor what a kernel is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from nki_anvil.backends.worker.arguments import in_order
from nki_anvil.lab import constant_numbers, product_operands, residues, yardstick
from nki_anvil.lab.arithmetic import Arithmetic, Order, is_array
from nki_anvil.lab.chosen import Chosen
from nki_anvil.lab.formats import UNIT_ROUNDOFF, by_lot, rounded, stored
from nki_anvil.lab.held_numbers import Operands
from nki_anvil.lab.meeting import Event, Meeting, Recording, meet
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule
from nki_anvil.lab.sides import Sides
from nki_anvil.lab.solving import solved
from nki_anvil.lab.yardstick import Yardstick

Array = np.ndarray[Any, Any]
Record = dict[str, Any]

LARGE_FLOPS: Final = 2.0**29
"""Of matrix products. Above any of these limits, of the float32 runs only the plain and the slab-wise one are made."""
LARGE_ELEMENTS: Final = 2**24
"""Of inputs and outputs."""
LARGE_WORK: Final = 2.0**27
"""Elements that all other operations make."""
RUNNING: Final = 8.0
"""How much more than honest runs a kernel may err in running sums: where terms repeat, all steps round one way, another
way in each order, and a row's errors are one number's."""
ONE_BY_ONE: Final = 4.0
"""The same where most numbers of an input are taken out of it one by one: a loop of Python's adds up in one order."""
UNEVEN: Final = 10
"""Such runs more where single elements hang on what cancels, a root of a difference for instance: of many, some come
out well in a few runs by chance."""
DISTURBED: Final = 2
"""Runs in float64 of inputs and sums moved by a rounding and functions by their noise. Where few distinct values are
possible (of few inputs, or where a tangent saturates and one is added), the float32 runs make exact zeros by chance; in
one disturbed run alone a few of eight million elements come out as well, and a right kernel was refused for them.
Where something is limited, the second is a pair of opposite errors: a sum that comes to nothing is below the limit in
all of few runs by chance, and above it in one of a pair."""
SAME: Final = 1e-9
"""Of an output's largest element, what float64 leaves of a row that was shifted and a result that was not."""
RESCALED: Final = 8
"""Runs more where operands are rounded to less than float32: where one term is most of a sum, or all are equal, its
operand's rounding is all of a row's error, and comes out well in few runs by chance."""
BRINK: Final = 1e36
ROUNDINGS: Final = 4
"""Pairs of runs off by a few roundings, where numbers are rounded: what one of these decides is no jump of a row that
has many, as numbers of sixteen bits before a product."""
APART: Final[tuple[tuple[Order, Order], ...]] = (
    ("pairwise", "sequential"), ("pairwise", "plain"), ("sequential", "plain"),
)  # fmt: skip
"""In which order what is chosen out of products is added up, and in which the products."""
DECISIONS: Final = 3
BESIDE: Final = 32.0
"""Pairs of such runs more where numbers are rounded or compared, off by so many roundings: one of a pair crosses any
decision that honest arithmetic might take otherwise, and the other does not."""

Recorded = TypeVar("Recorded", bound=Recording)


@dataclass(frozen=True, slots=True)
class HonestRuns:
    """A reference with the outputs' dtypes, the precision that the problem declares, and the engines' noise."""

    module: ReferenceModule
    dtypes: Sequence[str]
    precision: str
    noise: float
    lots: bool = False
    """Inputs and outputs may be rounded by lot."""
    sides: Sides = field(default_factory=dict[str, int])
    """What conditions came to in the exact runs so far."""
    arguments: Sequence[Record] = ()
    """Of which some may ascend along their last axis: so they do when they are off by a rounding."""

    def _forward(self, inputs: Sequence[Any], how: Arithmetic) -> list[Array]:
        how.precision = self.precision
        return self.module.forward(inputs, how)

    def exact(self, inputs: Sequence[Any]) -> tuple[list[Array], Arithmetic]:
        """The outputs in float64, and the work that was counted. Raises ReferenceFault."""
        how = Arithmetic(dtype=np.float64, told=_told(inputs), sides=self.sides)
        outputs = self._forward(inputs, how)
        if len(outputs) != len(self.dtypes):
            raise ReferenceFault(f"forward returned {len(outputs)} outputs, and {len(self.dtypes)} when it was opened.")
        return outputs, how

    def meeting(self, inputs: Sequence[Any], watched: int) -> Meeting:
        """What one of the inputs, an array, meets in runs in float64. Raises ReferenceFault."""

        return _also_behind_functions(inputs[watched], self._record(inputs, watched))

    def residues(self, inputs: Sequence[Any], watched: int) -> list[Array]:
        """What is nearest to one of the inputs, an array, of those of which a sum leaves nothing, for several sums."""
        return residues.solved(inputs[watched], self._record(inputs, watched))

    def sums(self, inputs: Sequence[Any]) -> tuple[list[Array], list[Event]]:
        """The outputs of a run in float64, its sums, and what it compares, as far as these are recorded. Raises
        ReferenceFault."""
        recording = Recording(comparisons=True)
        return self._forward(inputs, Arithmetic(np.float64, recording=recording)), recording.events

    def _record(self, inputs: Sequence[Any], watched: int) -> Callable[[Array], list[Event]]:
        """Runs in float64 in which one of the inputs is another."""

        def record(argument: Array) -> list[Event]:
            recording = Recording()
            changed = [argument if place == watched else item for place, item in enumerate(inputs)]
            self._forward(changed, Arithmetic(dtype=np.float64, recording=recording))
            return recording.events

        return record

    def weighed(self, inputs: Sequence[Any]) -> list[tuple[float, float]]:
        """Of few numbers and single ones that a run in float64 compares, what they are; nothing where it fails."""
        return self._recorded(inputs, Recording()).sides

    def operands(self, inputs: Sequence[Any]) -> Operands:
        """What a run in float64 computes with; as far as it comes."""
        return self._recorded(inputs, Operands())

    def _recorded(self, inputs: Sequence[Any], recording: Recorded) -> Recorded:
        with contextlib.suppress(ReferenceFault):
            self._forward(inputs, Arithmetic(dtype=np.float64, recording=recording))
        return recording

    def meeting_of_product(self, inputs: Sequence[Any], number: int, product: Array) -> Meeting:
        """What one of the reference's products of matrices meets, by runs in which others stand instead of it."""

        def record(other: Array) -> list[Event]:
            recording = Recording((number, other))
            self._forward(inputs, Arithmetic(dtype=np.float64, recording=recording))
            return recording.events

        return _also_behind_functions(product, record)

    def with_product(self, inputs: Sequence[Any], number: int, product: Array) -> list[Array]:
        """The outputs in float64 where one of the products of matrices comes out as another. Raises ReferenceFault."""
        return self._forward(inputs, Arithmetic(np.float64, recording=Recording((number, product))))

    def turned(self, inputs: Sequence[Any]) -> list[Array]:
        """The outputs in float64 where what sorts leave open comes the other way round. Raises ReferenceFault."""
        return self._forward(inputs, Arithmetic(dtype=np.float64, turned=True))

    def measure(
        self,
        inputs: Sequence[Any],
        seed: int,
        known: tuple[list[Array], Arithmetic] | None = None,
        partial: bool = False,
        tied: bool = False,
        rough: bool = False,
    ) -> Yardstick | None:
        """None where the exact result, which may be ``known``, is not finite: there is no point in going on.

        A ``partial`` case leaves such rows out, and those where honest runs are too far off; a ``tied`` one has equals.
        In a ``rough`` one all rows may be those in which the runs are off by a little.
        """
        exact, work = known or self.exact(inputs)
        if not partial and not all(np.isfinite(r).all() for r in exact):
            return None
        rng = _of_many(seed)
        large = is_large(work, [*inputs, *exact])
        honest = [self._honest(inputs, how, rng) for how in self._arithmetics(large, rng, tied, partial)]
        if work.chooses and not (work.decides or work.leaves_open or large or self.lots):
            honest += self._chosen_apart(inputs, rng)
        if work.chains:
            honest.append(self._honest(inputs, Arithmetic(operand=self._as_it_is(), reassociates=True), rng))
        if work.decides and not large and self.precision == "float32":
            honest += self._lowered(inputs, exact, rng)
        moved = self._pairs(inputs, rng, DISTURBED, TIED) if tied else self._several(inputs, rng, DISTURBED)
        if work.compared and not tied:
            moved[1:] = self._pairs(inputs, rng, 1, ROUNDED)
        decides = not tied and (work.decides or any("float" not in dtype for dtype in self.dtypes))
        beside = self._pairs(inputs, rng, 1 if large else DECISIONS, AROUND) if decides else []
        if decides and work.rounds and not large:
            moved += yardstick.rounded_otherwise(exact, self._pairs(inputs, rng, ROUNDINGS, NEARBY))
        constants = self._constants(inputs, rng, constant_numbers.turns(work)) if work.has_constants else []
        swung = self._pairs(inputs, rng, 1, SWUNG) if work.contends and partial and not tied else []

        wider = max(RUNNING if work.running else 1.0, ONE_BY_ONE if _is_one_by_one(work, inputs) else 1.0)

        def measured() -> Yardstick:
            found = yardstick.measure(
                exact, honest, moved, beside, constants, swung, dtypes=self.dtypes, precision=self.precision,
                rowwise=work.matmul_flops == 0, large=large, partial=partial, tied=tied, rough=rough,
                rounds=work.rounds, by_lot=self.lots, brink=work.matmul_flops > 0 and _is_at_the_brink(inputs),
            )  # fmt: skip
            return found if wider == 1.0 else yardstick.widened(found, wider)

        found = measured()
        if large or not any(map(yardstick.uneven, found.outputs)):
            return found
        moved += self._pairs(inputs, rng, UNEVEN // 2, TIED) if tied else self._several(inputs, rng, UNEVEN)
        return measured()

    def _arithmetics(self, large: bool, rng: np.random.Generator, tied: bool, partial: bool) -> list[Arithmetic]:
        """Where rows may be left out, the last run flushes: one that hangs on what that makes zero is nobody's."""
        as_it_is = elsewhere = self._as_it_is()
        if as_it_is is not None:
            elsewhere = as_it_is if tied else product_operands.at_another_scale(self.precision, rng)
        orders = ("slabs",) if large else ("sequential", "reversed", "slabs")
        more = 0 if large or elsewhere is as_it_is else RESCALED
        noisy: Record = {"noise": self.noise, "rng": rng, "operand": elsewhere, "fast_slabs": large, "consistent": tied}
        return [
            Arithmetic(operand=as_it_is),
            *(Arithmetic(operand=elsewhere) for _ in range(more)),
            *(Arithmetic(order=order, flushes=partial and order == "slabs", **noisy) for order in orders),
        ]

    def _honest(self, inputs: Sequence[Any], how: Arithmetic, rng: np.random.Generator) -> list[Array]:
        """A float32 run of inputs and outputs rounded as the problem declares."""
        reduced = self.precision not in ("float32", "tfloat32")
        given = [_rounded(self._by_lot(i, self.precision, rng), self.precision) if reduced else i for i in inputs]
        outputs = self._forward(given, how)
        return [_stored(self._by_lot(o, dtype, rng), dtype) for o, dtype in zip(outputs, self.dtypes, strict=True)]

    def _chosen_apart(self, inputs: Sequence[Any], rng: np.random.Generator) -> Iterator[list[Array]]:
        """Float32 runs in which what is chosen out of products was added up in another order."""
        for orders in APART:
            chosen = Chosen()
            first, second = (
                partial(Arithmetic, order=order, operand=self._as_it_is(), chosen=chosen) for order in orders
            )
            self._honest(inputs, first(), rng)
            for turn in range(chosen.turns):
                chosen.give(turn)
                yield self._honest(inputs, second(), rng)

    def _as_it_is(self) -> product_operands.Rounding | None:
        """What becomes of a product's operands where nothing is scaled."""
        return None if self.precision == "float32" else product_operands.as_it_is(self.precision)

    def _by_lot(self, item: Any, precision: str, rng: np.random.Generator) -> Any:
        """A number to be rounded, where that is done by lot."""
        return by_lot(item, precision, rng) if self.lots and precision in UNIT_ROUNDOFF and _is_rounded(item) else item

    def _lowered(self, inputs: Sequence[Any], exact: Sequence[Array], rng: np.random.Generator) -> list[list[Array]]:
        """Float32 runs of an input's rows less their largest element, where that leaves the result as it is.

        So kernels begin who compare numbers of a row: a zero among large ones is exact in every other run.
        """
        runs: list[list[Array]] = []
        for position, item in enumerate(inputs):
            if _is_rounded(item) and item.ndim > 1:
                lowered = [
                    _less_its_largest(one, np.float64) if at == position else one for at, one in enumerate(inputs)
                ]
                if _alike(self._forward(lowered, Arithmetic(dtype=np.float64)), exact):
                    single = [
                        _less_its_largest(one, np.float32) if at == position else one for at, one in enumerate(inputs)
                    ]
                    runs.append(self._honest(single, Arithmetic(), rng))
        return runs

    def _several(self, inputs: Sequence[Any], rng: np.random.Generator, count: int) -> list[list[Array]]:
        return [self._moved(inputs, int(rng.integers(2**63)), ROUNDED) for _ in range(count)]

    def _pairs(
        self, inputs: Sequence[Any], rng: np.random.Generator, count: int, how: Disturbance
    ) -> list[list[Array]]:
        """Two runs each with errors of opposite signs, one after the other."""
        seeds = [int(rng.integers(2**63)) for _ in range(count)]
        ways = [how, replace(how, mirrored=True)]
        return [self._moved(inputs, seed, way) for seed in seeds for way in ways]

    def _moved(self, inputs: Sequence[Any], seed: int, what: Disturbance) -> list[Array]:
        """A run in float64 of inputs and sums that are off by a rounding, functions by the engines' noise.

        Sums, because float32 runs may all round one the same way, and an exponential of it hangs on the next one.
        """
        how = Arithmetic(
            np.float64, noise=self.noise * what.roundings, rng=_of_many(seed), mirrored=what.mirrored,
            rounding=what.roundings * UNIT_ROUNDOFF["float32"], throughout=what.throughout, consistent=what.tied,
        )  # fmt: skip
        return self._forward(inputs if what.tied else self._disturbed(inputs, how, what.roundings), how)

    def _constants(self, inputs: Sequence[Any], rng: np.random.Generator, turns: int) -> list[list[Array]]:
        """Runs in float64 with errors of the reference's own constants, and no others; the first in pairs of opposite
        signs, for what a number limits may hang on one way alone."""
        seeds = [int(rng.integers(2**63)) for _ in range(turns)]
        ways = [(seed, turn, False) for turn, seed in enumerate(seeds)]
        ways += [(seed, turn, True) for turn, seed in enumerate(seeds[: constant_numbers.FEWEST])]
        return [self._forward(inputs, self._other_constants(inputs, *way)) for way in ways]

    def _other_constants(self, inputs: Sequence[Any], seed: int, turn: int, mirrored: bool) -> Arithmetic:
        return Arithmetic(
            np.float64, rng=np.random.default_rng(seed), constants=UNIT_ROUNDOFF["float32"], told=_told(inputs),
            turn=turn, mirrored=mirrored, consistent=True,
        )  # fmt: skip

    def _disturbed(self, inputs: Sequence[Any], how: Arithmetic, roundings: float) -> list[Any]:
        u = roundings * UNIT_ROUNDOFF["tfloat32" if self.precision == "tfloat32" else "float32"]
        moved = [i.astype(np.float64) * (1 + how.lots(u, i.shape)) if _is_rounded(i) else i for i in inputs]
        for place, argument in enumerate(self.arguments):
            moved[place] = in_order(argument, moved[place])
        return moved


def _also_behind_functions(argument: Array, record: Callable[[Array], list[Event]]) -> Meeting:
    met = meet(argument, record)
    if not met.opposites:
        with contextlib.suppress(ReferenceFault):  # some numbers are not what the reference takes
            return replace(met, opposites=solved(argument, record))
    return met


def _of_many(seed: int) -> np.random.Generator:
    """Chance for runs, each of whose numbers has an error of its own: takes half the time of NumPy's default."""
    return np.random.Generator(np.random.SFC64(seed))


def _less_its_largest(item: Array, dtype: Any) -> Array:
    numbers = item.astype(dtype)
    with np.errstate(all="ignore"):
        return numbers - numbers.max(axis=-1, keepdims=True)


def _alike(a: Sequence[Array], b: Sequence[Array]) -> bool:
    """Whether outputs are the same in float64, but for its roundings."""
    for one, other in zip(a, b, strict=True):
        known = np.isfinite(other)
        most = float(np.abs(other[known]).max(initial=0.0))
        if not np.allclose(one[known], other[known], rtol=0.0, atol=SAME * most):
            return False
    return True


def _told(inputs: Sequence[Any]) -> frozenset[float]:
    """Numbers that the kernel gets as well."""
    return frozenset(float(item) for item in inputs if isinstance(item, (int, float)))


@dataclass(frozen=True, slots=True)
class Disturbance:
    """How a run is disturbed: by how many roundings, with which sign, whether at every step that float32 rounds.

    In a ``tied`` one the inputs stay as they are, and equals stay equal.
    """

    roundings: float = 1.0
    throughout: bool = False
    tied: bool = False
    mirrored: bool = False


ROUNDED: Final = Disturbance()
TIED: Final = Disturbance(throughout=True, tied=True)
AROUND: Final = Disturbance(BESIDE, throughout=True)
NEARBY: Final = Disturbance(4.0, throughout=True)
"""What an inverse in the place of a division decides."""
SWUNG: Final = Disturbance(4 * BESIDE)
"""What decides between scores that an exponential sets apart: in a few honest runs none may change sides by chance."""


def is_large(work: Arithmetic, arguments: Sequence[Any]) -> bool:
    """Whether the work done, or the inputs and outputs, are so many that few honest runs have to do."""
    elements = sum(np.size(argument) for argument in arguments)
    return work.matmul_flops > LARGE_FLOPS or work.vector_flops > LARGE_WORK or elements > LARGE_ELEMENTS


def _is_one_by_one(work: Arithmetic, inputs: Sequence[Any]) -> bool:
    most = max((np.size(item) for item in inputs if is_float(item)), default=0)
    return 2 * work.single_numbers > most > 0


def _is_at_the_brink(inputs: Sequence[Any]) -> bool:
    """Whether the two largest inputs of floats have a product near float32's end, for a contraction adds some up."""
    sizes = sorted(float(np.abs(item.astype(np.float64)).max(initial=0.0)) for item in inputs if is_float(item))
    return len(sizes) > 1 and sizes[-1] * sizes[-2] >= BRINK


def is_float(item: Any) -> bool:
    """An array of any floating format, those of ml_dtypes included."""
    return is_array(item) and (item.dtype.kind == "f" or "float" in item.dtype.name)


def _is_rounded(item: Any) -> bool:
    """Floats, but for labels and masks of zeros and ones: 1 - t is nothing where such a t is one."""
    return is_float(item) and not ((item == 0) | (item == 1)).all()


def _stored(item: Any, dtype: str) -> Any:
    return stored(item, dtype) if is_float(item) and dtype in UNIT_ROUNDOFF else item


def _rounded(item: Any, precision: str) -> Any:
    if not is_float(item) or precision not in UNIT_ROUNDOFF or precision == "float32":
        return item
    return rounded(item.astype(np.float64), precision).astype(np.float32)
