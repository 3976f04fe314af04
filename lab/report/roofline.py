"""The roofline of the chip with every kept kernel on it: how much work a byte carries, and how fast it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nki_anvil.backends.run import Profile
from nki_anvil.lab import yields
from nki_anvil.lab.report.axes import WIDTH, Scale, around, figure
from nki_anvil.lab.specification import Specification, Work
from nki_anvil.sim.chips import CHIPS

LEFT: Final = 56
RIGHT: Final = 20
TOP: Final = 26
BOTTOM: Final = 256
HEIGHT: Final = 300
NAME: Final = (26.0, 14.0)
"""Room that a number takes beside its point."""
VISIBLE: Final = 3.0
"""Room beside the points and the ridge, as a factor."""


@dataclass(frozen=True)
class Kernel:
    x: float
    y: float
    attempt: int
    best: bool
    label: str
    named: bool
    """Whether there is room for its number."""


@dataclass(frozen=True)
class Ceiling:
    """A rate that no kernel exceeds: flat, from where the memory's slope reaches it."""

    x: float
    y: float
    name: str


@dataclass(frozen=True)
class Roofline:
    slope: tuple[float, float, float, float]
    """Ends of the memory's roof: x, y, x, y."""
    memory: str
    ceilings: tuple[Ceiling, ...]
    kernels: tuple[Kernel, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def roofline(specification: Specification, kept: Sequence[tuple[int, Profile]], best: int | None) -> Roofline | None:
    """None where the problem's work or the kernels' traffic is unknown, or nothing was kept."""
    work = specification.work.get(specification.timed, Work())
    flops = (work.matmul_flops or 0.0) + (work.vector_flops or 0.0)
    places = [(number, *place) for number, profile in kept if (place := _place(profile, flops)) is not None]
    if not places:
        return None
    bandwidth = CHIPS[specification.chip].dma_core_practical_gbps * 1e9 * specification.lnc
    rates = _rates(specification, work)
    ridge = min(rates.values()) / bandwidth if rates else max(i for _, i, _ in places)
    x_low, x_high = around([ridge, *(i for _, i, _ in places)], logarithmic=True)
    x = Scale(x_low / VISIBLE, x_high * VISIBLE, LEFT, WIDTH - RIGHT, logarithmic=True)
    reached = [rate for _, _, rate in places]
    y_low, y_high = around([*reached, *rates.values(), bandwidth * x.low], logarithmic=True)
    y = Scale(y_low, y_high * 1.4, BOTTOM, TOP, logarithmic=True)
    top = min(x.high, (max(rates.values()) if rates else y.high) / bandwidth)
    return Roofline(
        slope=(x(x.low), y(bandwidth * x.low), x(top), y(bandwidth * top)),
        memory=f"HBM {bandwidth / 1e9:.0f} GB/s",
        ceilings=tuple(_ceiling(name, rate, bandwidth, x, y) for name, rate in rates.items()),
        kernels=_kernels(places, best, x, y),
        x_ticks=tuple(x.ticks()),
        y_ticks=tuple((y(value), _rate(value)) for value in y.round_values()),
    )


def _kernels(places: Sequence[tuple[int, float, float]], best: int | None, x: Scale, y: Scale) -> tuple[Kernel, ...]:
    """Best, then the newest, get their numbers first."""
    found: list[Kernel] = []
    for number, intensity, rate in sorted(places, key=lambda place: (place[0] == best, place[0]), reverse=True):
        at = (x(intensity), y(rate))
        apart = all(abs(at[0] - one.x) > NAME[0] or abs(at[1] - one.y) > NAME[1] for one in found if one.named)
        found.append(Kernel(*at, number, number == best, _label(number, intensity, rate), apart))
    return tuple(reversed(found))


def _place(profile: Profile, flops: float) -> tuple[float, float] | None:
    """FLOPs per byte of HBM traffic, and FLOPs per second."""
    moved = profile.metrics.get("hbm_read_bytes", 0.0) + profile.metrics.get("hbm_write_bytes", 0.0)
    done = flops or profile.metrics.get("hardware_flops", 0.0)
    return (
        (done / moved, done / profile.latency_us * 1e6) if done > 0 and moved > 0 and profile.latency_us > 0 else None
    )


def _rates(specification: Specification, work: Work) -> dict[str, float]:
    """FLOPs per second of the engines that the problem needs, as AccelOpt counts them on Trn2."""
    if specification.chip != "trn2":
        return {}
    kind = yields.RATE_OF[specification.precision]
    rates: dict[str, float] = {}
    if work.matmul_flops:
        rates[f"tensor engine, {kind}"] = yields.ACCELOPT_TRN2[kind] * 1e6 * specification.lnc
    if work.vector_flops and not work.matmul_flops:
        rates["vector engine"] = yields.ACCELOPT_TRN2["vector"] * 1e6 * specification.lnc
    return rates


def _ceiling(name: str, rate: float, bandwidth: float, x: Scale, y: Scale) -> Ceiling:
    return Ceiling(max(LEFT, x(max(x.low, rate / bandwidth))), y(rate), f"{name} {_rate(rate)}")


def _label(attempt: int, intensity: float, rate: float) -> str:
    return f"attempt {attempt}: {figure(intensity)} FLOP per byte, {_rate(rate)}"


def _rate(value: float) -> str:
    for unit, size in (("TFLOP/s", 1e12), ("GFLOP/s", 1e9), ("MFLOP/s", 1e6)):
        if value >= size:
            return f"{figure(value / size, 3)} {unit}"
    return f"{figure(value, 3)} FLOP/s"
