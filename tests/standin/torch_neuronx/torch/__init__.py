"""As much of torch as moving arrays to a device needs, standing in."""

from __future__ import annotations

from typing import Any


class Tensor:
    on_device = False

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def to(self, device: str) -> Tensor:
        moved = Tensor(self.array)
        moved.on_device = device == "xla:0"
        return moved

    def cpu(self) -> Tensor:
        return self


def from_numpy(array: Any) -> Tensor:
    return Tensor(array)
