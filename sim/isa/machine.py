"""Instructions on the machine's own state: random generators, registers, the pair of cores, and what the target is."""

from __future__ import annotations

from typing import Any, Final

from nki_anvil.sim.builder import live
from nki_anvil.sim.chips import chip
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.isa.enums import NkiInstruction, dma_engine, engine, nc_version
from nki_anvil.sim.isa.operands import alike, choice, described, emit, integer, integers, tile, unit_of
from nki_anvil.sim.register import VirtualRegister
from nki_anvil.sim.tensor import NkiTensor

_PAIR: Final = 2


def get_nc_version() -> nc_version:
    """The generation of the chip that the kernel is traced for."""
    return nc_version(chip(live().chip).neuroncore)


def get_nc_sub_version() -> int:
    """The silicon's revision: the first."""
    return 0


def rng(dst: NkiTensor, engine: engine = engine.vector, name: str | None = None) -> NkiInstruction:
    """Random bits."""
    return emit("rng", (tile(dst, "rng", "dst"),), (), unit_of("rng", engine))


def set_rng_seed(src_seeds: NkiTensor, name: str | None = None) -> NkiInstruction:
    """Seed the vector engine's generator."""
    return emit("set_rng_seed", (tile(src_seeds, "set_rng_seed", "src_seeds"),))


def rand_set_state(src_seeds: NkiTensor, engine: engine = engine.gpsimd, name: str | None = None) -> NkiInstruction:
    """Seed an engine's generator per lane."""
    seeds = tile(src_seeds, "rand_set_state", "src_seeds")
    return emit("rand_set_state", (seeds,), (), unit_of("rand_set_state", engine))


def rand_get_state(dst: NkiTensor, engine: engine = engine.gpsimd, name: str | None = None) -> NkiInstruction:
    """Read an engine's generator per lane."""
    return emit("rand_get_state", (tile(dst, "rand_get_state", "dst"),), (), unit_of("rand_get_state", engine))


def register_alloc(x: int | None = None) -> VirtualRegister:
    """A register, uninitialised or holding an integer."""
    register = live().register()
    if x is not None:
        register_move(register, x)
    return register


def register_move(dst: VirtualRegister, src: int | VirtualRegister) -> None:
    """Set a register to a constant or to another register."""
    target = _writable(dst, "register_move")
    if isinstance(src, VirtualRegister):
        emit("register_move", (), (target, src.index, None))
    elif isinstance(src, NkiTensor):
        raise TraceError("NKI-TYPE", "nisa.register_move from a tensor.", remedy="Use nisa.register_load.")
    else:
        emit("register_move", (), (target, None, integer(src, "register_move", "src")))


def register_load(dst: VirtualRegister, src: NkiTensor) -> None:
    """Read one element into a register."""
    emit("register_load", (_one(src, "register_load", "src"),), (_writable(dst, "register_load"),))


def register_store(dst: NkiTensor, src: VirtualRegister) -> None:
    """Write a register to one element."""
    emit("register_store", (_one(dst, "register_store", "dst"),), (_register(src, "register_store", "src"),))


def _register(value: Any, name: str, slot: str) -> int:
    if isinstance(value, VirtualRegister):
        return value.index
    raise TraceError(
        "NKI-TYPE", f"{slot} of nisa.{name} is {described(value)}, not a register.", remedy="Use nisa.register_alloc()."
    )


def _writable(value: Any, name: str) -> int:
    index = _register(value, name, "dst")
    if value.frozen:
        raise TraceError(
            "NKI-CONTROL", f"nisa.{name} writes the index of a loop.", remedy="Write to a register of its own."
        )
    return index


def _one(value: Any, name: str, slot: str) -> NkiTensor:
    given = tile(value, name, slot)
    if given.size != 1:
        raise TraceError("NKI-SHAPE", f"{slot} of nisa.{name} has shape {given.shape}.", remedy="Give one element.")
    return given


def core_barrier(
    data: NkiTensor, cores: tuple[int, ...], engine: engine = engine.gpsimd, name: str | None = None
) -> NkiInstruction | None:
    """Wait for the other core; nothing to wait for on a single one."""
    shared = tile(data, "core_barrier", "data")
    ranks = integers(cores, "core_barrier", "cores") or ()
    if live().cores < _PAIR:
        return None
    return emit("core_barrier", (shared,), (ranks,), unit_of("core_barrier", engine))


def sendrecv(
    src: NkiTensor,
    dst: NkiTensor,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int,
    dma_engine: dma_engine = dma_engine.dma,
    name: str | None = None,
) -> NkiInstruction:
    """Exchange tiles between the two cores."""
    alike("sendrecv", dst=dst, src=src)
    if live().cores < _PAIR:
        raise TraceError("NKI-LNC", "nisa.sendrecv on a single core.", remedy="Launch the kernel as kernel[2](...).")
    values = (
        integer(send_to_rank, "sendrecv", "send_to_rank"),
        integer(recv_from_rank, "sendrecv", "recv_from_rank"),
        integer(pipe_id, "sendrecv", "pipe_id"),
        _dma_engine(dma_engine),
    )
    return emit("sendrecv", (dst, src), values)


def _dma_engine(value: Any) -> str:
    return choice(value, dma_engine, "sendrecv", "dma_engine")
