"""Constants of the cost model from measured latencies: damped least squares on the logarithms, and which of them the
measurements settle at all.

It knows programs and microseconds, not where either came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nki_anvil.sim.chips import Chip
from nki_anvil.sim.constants import ADJUSTABLE, adjusted, bounds, constant
from nki_anvil.sim.costs.rates import Rates
from nki_anvil.sim.model import Model
from nki_anvil.sim.program import Program

SETTLED: Final = 0.05
"""Largest relative standard error of a constant that the measurements settle; one that is less certain keeps its
published value."""
LAUNCH_STEP_NS: Final = 1000.0
"""Scale of a constant whose published value is zero."""
LEAST_ERROR: Final = 0.005
"""No measurement is believed beyond half a percent, however often it was repeated."""
STEP: Final = 0.02
"""Relative step of the numerical derivative: large against the kinks of a schedule, small against its curvature."""
ROUNDS: Final = 12
ENOUGH: Final = 1e-4

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Observation:
    """A program's measured latency, and the relative standard error of that."""

    program: Program
    microseconds: float
    error: float = LEAST_ERROR


@dataclass(frozen=True, slots=True)
class Fitted:
    """One constant: as published, as fitted, and the relative standard error of the fit."""

    name: str
    published: float
    value: float
    error: float
    settled: bool
    """False: the measurements do not tell it, and ``value`` is the published one."""


@dataclass(frozen=True, slots=True)
class Fit:
    """All constants, and predicted microseconds per observation with the published and with the fitted ones."""

    constants: tuple[Fitted, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def values(self) -> dict[str, float]:
        """What the model is to use: the settled constants by name."""
        return {one.name: one.value for one in self.constants if one.settled}


def fit(observations: Sequence[Observation], chip: Chip, rates: Rates, names: Sequence[str] = ADJUSTABLE) -> Fit:
    """Fit what the observations settle; raises ValueError without any observation."""
    if not observations:
        raise ValueError("there is nothing to fit to")
    problem = _Problem(observations, chip, rates)
    free, errors = list(names), dict.fromkeys(names, float("inf"))
    found: dict[str, float] = {}
    while free:
        found, certain = _solve(problem, free, {name: found.get(name, 0.0) for name in free})
        errors |= certain
        worst = max(free, key=lambda name: certain[name])
        if certain[worst] <= SETTLED:
            break
        free.remove(worst)
    values = problem.values({name: found[name] for name in free})
    return Fit(
        tuple(_fitted(name, rates, values, errors[name]) for name in names),
        tuple(problem.predicted({})),
        tuple(problem.predicted(values)),
    )


def _fitted(name: str, rates: Rates, values: Mapping[str, float], error: float) -> Fitted:
    published = constant(rates, name)
    return Fitted(name, published, values.get(name, published), error, name in values)


class _Problem:
    """Observations against predictions. A constant is moved by ``u``: published x exp(u), or u steps from zero."""

    def __init__(self, observations: Sequence[Observation], chip: Chip, rates: Rates) -> None:
        self.rates = rates
        self._models = [Model(one.program, chip, rates) for one in observations]
        self._measured = np.log([one.microseconds for one in observations])
        self._weight = 1 / np.maximum([one.error for one in observations], LEAST_ERROR)

    def values(self, moved: Mapping[str, float]) -> dict[str, float]:
        return {name: self._value(name, u) for name, u in moved.items()}

    def _value(self, name: str, u: float) -> float:
        low, high = bounds(self.rates, name)
        published = constant(self.rates, name)
        value = published * exp(u) if published else LAUNCH_STEP_NS * u
        return min(max(value, low), high)

    def predicted(self, values: Mapping[str, float]) -> list[float]:
        """Microseconds per observation."""
        rates = adjusted(self.rates, values)
        return [model.at(rates).run().latency / 1e3 for model in self._models]

    def residuals(self, moved: Mapping[str, float]) -> Vector:
        """How far off each prediction is, in standard errors of its measurement."""
        return (np.log(self.predicted(self.values(moved))) - self._measured) * self._weight


def _solve(
    problem: _Problem, free: Sequence[str], start: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The free constants' moves, and the relative standard error of each."""
    at = np.array([start[name] for name in free])

    def residuals(x: Vector) -> Vector:
        return problem.residuals(dict(zip(free, x.tolist(), strict=True)))

    at, slopes, left = _least_squares(residuals, at)
    spread = max(1.0, sqrt(float(left @ left) / max(len(left) - len(free), 1)))
    return dict(zip(free, at.tolist(), strict=True)), _errors(problem, free, at, slopes, spread)


def _least_squares(residuals: Callable[[Vector], Vector], at: Vector) -> tuple[Vector, Vector, Vector]:
    """Levenberg and Marquardt's: the minimum, its Jacobian, and what is left there."""
    damping, left = 1e-2, residuals(at)
    slopes = _slopes(residuals, at, left)
    for _ in range(ROUNDS):
        moved = at - _step(slopes, left, damping)
        after = residuals(moved)
        if after @ after < left @ left:
            gained = 1 - (after @ after) / (left @ left)
            at, left, damping = moved, after, damping / 8
            slopes = _slopes(residuals, at, left)
            if gained < ENOUGH:
                break
        else:
            damping *= 8
            if damping > 1e4:
                break
    return at, slopes, left


def _step(slopes: Vector, left: Vector, damping: float) -> Vector:
    normal = slopes.T @ slopes
    damped = normal + damping * np.diag(np.diag(normal) + 1e-9)
    return np.asarray(np.linalg.lstsq(damped, slopes.T @ left, rcond=None)[0], np.float64)


def _slopes(residuals: Callable[[Vector], Vector], at: Vector, here: Vector) -> Vector:
    columns = [(residuals(at + STEP * unit) - here) / STEP for unit in np.eye(len(at))]
    return np.stack(columns, axis=1)


def _errors(problem: _Problem, free: Sequence[str], at: Vector, slopes: Vector, spread: float) -> dict[str, float]:
    """Standard errors from the curvature at the minimum; a direction that changes nothing is endlessly uncertain."""
    normal = slopes.T @ slopes
    size = np.sqrt(np.maximum(np.diag(normal), 1e-300))
    blind = size < 1e-6
    scaled = normal / np.outer(size, size) + 1e-9 * np.eye(len(size))
    scaled[blind, :] = scaled[:, blind] = 0
    scaled[blind, blind] = 1
    errors = np.sqrt(np.maximum(np.diag(np.linalg.inv(scaled)), 0)) / size * spread
    errors[blind] = np.inf
    return {name: _relative(problem, name, u, error) for name, u, error in zip(free, at, errors.tolist(), strict=True)}


def _relative(problem: _Problem, name: str, u: float, error: float) -> float:
    """Of a constant without a published value the error is relative to what was found, and to one step at least."""
    return error if constant(problem.rates, name) else error / max(abs(u), 1.0)


def scatter(samples: Sequence[float]) -> float:
    """Relative standard error of the median of some samples, at least LEAST_ERROR."""
    if len(samples) < 2:
        return LEAST_ERROR
    logs = [log(sample) for sample in samples]
    return max(LEAST_ERROR, 1.25 * float(np.std(logs, ddof=1)) / sqrt(len(logs)))
