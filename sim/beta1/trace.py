"""Running a Beta 1 kernel once, without data, for all programs of its launch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from nki_anvil.sim.beta1 import movement
from nki_anvil.sim.beta1.compiler import AUTOMATIC
from nki_anvil.sim.beta1.index import Index
from nki_anvil.sim.beta1.kernel import Beta1Kernel
from nki_anvil.sim.beta1.paths import LIVE_PATH
from nki_anvil.sim.beta1.ranges import with_loops
from nki_anvil.sim.beta1.recorder import Recorder
from nki_anvil.sim.beta1.tile import Tile
from nki_anvil.sim.builder import LIVE
from nki_anvil.sim.errors import TraceError
from nki_anvil.sim.kernel import Kernel
from nki_anvil.sim.memory import MemoryRegion
from nki_anvil.sim.tensor import NkiTensor

VERSION: Final = "beta1"
"""What a program of this dialect says in place of an NKI version."""


def traced(recorder: Recorder, kernel: Kernel, arguments: Callable[[Recorder], tuple[Any, Any]]) -> Recorder:
    """Record all programs of a launch; returns the recorder that holds them, which is another one for a grid."""
    if isinstance(kernel, Beta1Kernel) and kernel.target not in (None, recorder.chip):
        raise TraceError(
            "NKI-TARGET", f"The kernel is jitted for {kernel.target}, and looked at for {recorder.chip}.",
            remedy=f'Leave platform_target out, or name "{recorder.chip}".',
        )  # fmt: skip
    grid = kernel.grid if isinstance(kernel, Beta1Kernel) else ()
    if not grid or all(size == 1 for size in grid):
        recorder.extents, recorder.grid = grid, (0,) * len(grid)
        _record(recorder, lambda: _outputs(recorder, kernel, _call(recorder, kernel, arguments(recorder))))
        return recorder
    rehearsal = Recorder(recorder.chip, recorder.version, recorder.source)
    rehearsal.extents, rehearsal.grid = grid, (0,) * len(grid)
    found: list[NkiTensor] = []
    rehearsal.on_hbm = found.append
    _record(rehearsal, lambda: _call(rehearsal, kernel, arguments(rehearsal)))
    recorder.extents = grid
    _record(recorder, lambda: _launch(recorder, kernel, arguments(recorder), found))
    return recorder


def _record(recorder: Recorder, run: Callable[[], Any]) -> None:
    live, path = LIVE.set(recorder), LIVE_PATH.set(recorder.path)
    try:
        run()
    finally:
        LIVE_PATH.reset(path)
        LIVE.reset(live)


def _launch(recorder: Recorder, kernel: Kernel, arguments: tuple[Any, Any], shared: Sequence[NkiTensor]) -> None:
    """The programs one after the other, as loops over the axes of the grid; their HBM tensors are the same ones."""
    recorder.share([(one.shape, one.dtype, one.storage.buffer, one.storage.name) for one in shared])
    recorder.path.launch = len(recorder.extents)
    first: list[Any] = []
    for grid in _programs(recorder, recorder.extents):
        recorder.grid = grid
        recorder.restart()
        returned = _call(recorder, kernel, arguments)
        recorder.end_program()
        if not first:
            first.append(returned)
    _outputs(recorder, kernel, first[0])


def _programs(recorder: Recorder, extents: Sequence[int]) -> Iterator[tuple[Index, ...]]:
    if not extents:
        yield ()
        return
    for index in recorder.iterate("program_id", 0, extents[0], 1, "grid"):
        for rest in _programs(recorder, extents[1:]):
            yield (index, *rest)


def _call(recorder: Recorder, kernel: Kernel, arguments: tuple[Any, Any]) -> Any:
    positional, named = arguments
    recorder.by_hand.overruled = bool(getattr(kernel.function, AUTOMATIC, False))
    return with_loops(kernel.function)(*positional, **named)


def wrapped(value: Any) -> Any:
    """A bound argument as Beta 1 kernels handle it: tensors as tiles."""
    if isinstance(value, NkiTensor):
        return Tile(value)
    if isinstance(value, (list, tuple)):
        items = map(wrapped, cast("Sequence[Any]", value))
        return tuple(items) if isinstance(value, tuple) else list(items)
    return value


def wrapped_all(positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, Any]:
    """All arguments of a call."""
    return tuple(map(wrapped, positional)), {name: wrapped(value) for name, value in named.items()}


def _outputs(recorder: Recorder, kernel: Kernel, returned: Any) -> None:
    for tile in _tensors(returned):
        tensor = tile.whole()
        if tensor.storage.buffer.on_chip and isinstance(kernel, Beta1Kernel) and kernel.only_simulated:
            tensor = _stored(tile)
        if tensor.storage.buffer.on_chip:
            raise TraceError(
                "NKI-OUTPUT",
                f"The kernel returns {tile!r}, which is on chip.",
                remedy="Allocate the output with nl.ndarray(..., buffer=nl.shared_hbm), nl.store to it and return it.",
            )
        recorder.output(tensor)


def _stored(tile: Tile) -> NkiTensor:
    """What a kernel that is only simulated returns of a tile on chip: its values, brought to HBM."""
    place = Tile(tile.recorder.allocate(tile.shape, tile.tensor.dtype, MemoryRegion.shared_hbm))
    movement.store(place, tile)
    return place.whole()


def _tensors(returned: Any) -> Iterator[Tile]:
    if returned is None:
        return
    if isinstance(returned, Tile):
        yield returned
    elif isinstance(returned, (list, tuple)):
        yield from itertools.chain.from_iterable(map(_tensors, cast("Sequence[Any]", returned)))
    else:
        raise TraceError(
            "NKI-OUTPUT", f"The kernel returns a {type(returned).__name__}.", remedy="Return tensors in HBM."
        )
