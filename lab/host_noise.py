"""``nki-anvil noise HOST``: the A/A run of a host made now, for every latency class, whatever is open.

Decisions on that host go by it from then on. It must not know settings or the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from numpy.random import Generator as Random

from nki_anvil.backends.backend import Backend, Report, silent
from nki_anvil.backends.errors import BackendUnsupported
from nki_anvil.backends.job import InputSpec, Record, ShapeSet
from nki_anvil.lab import seeds
from nki_anvil.lab.decision import FEWEST_ROUNDS
from nki_anvil.lab.digest import digest
from nki_anvil.lab.flags import WORTH_TELLING, rounds_needed
from nki_anvil.lab.noise import StoredNoise, stored_noise
from nki_anvil.lab.rules import Rules
from nki_anvil.lab.sampling import Noise, Sampler
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.timing import Arm

SEED: Final = "silu"
"""Its time is that of its transfers, so that its shape alone says in which latency class it falls."""

SHAPES: Final = ((320, 1536), (2048, 2048), (4096, 4096))
"""56, 357 and 1,410 us on one core of Trn2, as the model has it: one in each latency class."""

CLASSES: Final = ("under 0.1 ms", "0.1 to 1 ms", "above 1 ms")


class HostNoise(Record):
    """What a host's A/A runs said."""

    host: str
    found: tuple[StoredNoise, ...]

    @property
    def biased(self) -> bool:
        return any(one.biased for one in self.found)

    def __str__(self) -> str:
        return "\n".join([f"{self.host}: the same kernel in both arms", *map(_line, self.found)])


def _line(one: StoredNoise) -> str:
    told = (
        f"  {CLASSES[one.latency_class]:12} on {one.place or 'its only core'}: {one.aa_sd:.2%} per round over "
        f"{len(one.logs)} rounds; a gain is kept from {one.delta:.2%}"
    )
    if one.biased:
        return f"{told}; BIASED: it differs from itself, and nothing is kept until a run is clean"
    return f"{told}; {WORTH_TELLING:.0%} takes about {max(FEWEST_ROUNDS, rounds_needed(one.logs, one.delta))} rounds"


async def host_noise(
    backend: Backend,
    host: str,
    data: Path,
    *,
    rules: Rules,
    random: Random,
    clock: Callable[[], datetime],
    chip: str = "trn2",
    report: Report = silent,
) -> HostNoise:
    """Measure and store. Raises BackendUnsupported where nothing is measured, and other BackendErrors."""
    if backend.origin != "device":
        raise BackendUnsupported(
            f"{host} is the performance model: it says the same twice, and has no noise to measure.",
            "Name a Trainium host of the setting hosts.",
        )
    text = seeds.kernel_text(SEED)
    arm = Arm(digest(text), text)
    found: list[StoredNoise] = []
    for number, shape in enumerate(SHAPES, 1):
        await report(f"A/A run {number} of {len(SHAPES)}")
        quiet = Noise(rules.minimum_effect)
        sampler = Sampler(backend, specification(shape, chip), rules, random, clock, quiet, report)
        found.append(await stored_noise(sampler, arm, data, anew=True))
    return HostNoise(host=host, found=tuple(found))


def specification(shape: tuple[int, int], chip: str) -> Specification:
    """The seed at one shape; nothing of it is verified."""
    inputs = (InputSpec(name="x", shape=shape),)
    shape_sets = {"default": ShapeSet(name="default", inputs=inputs)}
    return Specification(name=SEED, version="", reference="", kernel="", chip=chip, shape_sets=shape_sets)
