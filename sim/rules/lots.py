"""Numbers that are drawn by lot: a kernel that is wrong once in a million draws is never seen to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation
from nki_anvil.sim.steering import DRAWS


def _draws(reading: Reading) -> Iterator[Violation]:
    for use in reading.named(*DRAWS):
        yield Violation(use.line, f"{use.name} draws lots.", use.count)


_STATES: Final = {"gpsimd": 6, "vector": 24}
"""Elements of a generator's state by engine."""
_VECTOR_SINCE: Final = 4
"""The NeuronCore whose Vector Engine gives its state."""


def _states(reading: Reading) -> Iterator[Violation]:
    for use in reading.named("set_rng_seed"):
        seed = use.tiles["src_seeds"]
        if tuple(seed.shape) != (1, 1) or seed.itemsize != 4:
            message = f"set_rng_seed takes one number of 32 bits, [1, 1], not {seed.dtype} {list(seed.shape)}."
            yield Violation(use.line, message, use.count)
    for use in reading.named("rand_set_state", "rand_get_state"):
        (state,) = use.tiles.values()
        if use.engine not in _STATES or (use.engine == "vector" and reading.chip.neuroncore < _VECTOR_SINCE):
            yield Violation(use.line, f"{use.name} is of the GpSimd Engine, not of {use.engine}.", use.count)
        elif state.dtype != "uint32" or len(state.shape) != 2 or state.elements != _STATES[use.engine]:
            message = f"{use.name} takes uint32 [lanes, {_STATES[use.engine]}], not {state.dtype} {list(state.shape)}."
            yield Violation(use.line, message, use.count)


RULES = (
    Rule("TRN2-PRNG", "A generator's seed is one number of 32 bits; its state six of uint32 for each lane, of GpSimd,"
         " or from trn3 on 24, of the Vector Engine.",
         "error", "Use [1, 1] with set_rng_seed, and uint32 [lanes, 6] with rand_set_state and rand_get_state.",
         "nki.isa.set_rng_seed, rand_set_state, rand_get_state: tile size, data types, constraints", _states),
    Rule("DATA-LOT", "No instruction draws random numbers, from whatever seed.",
         "warning", "Take random numbers as an input; or, where the kernel is meant to draw lots, say"
         " stochastic = true in problem.toml.",
         "none of the chip's: verification cannot try every draw", _draws),
)  # fmt: skip
