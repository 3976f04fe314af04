"""``nki.typing``: what kernels annotate their tensor arguments with. Annotations are not checked."""

from __future__ import annotations

from typing import Any


class _Annotation:
    """A type that can be subscripted by a dtype and a shape, as in ``nt.tensor[nl.float32, 128]``."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls


class tensor(_Annotation):  # noqa: N801 - the name is NKI's
    """A tensor that the kernel reads."""


class mutable_tensor(_Annotation):  # noqa: N801
    """A tensor that the kernel may write."""


class ReplicaGroup:
    """Which devices take part in a collective; made by kernels, used by nothing here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.arguments = (args, kwargs)


__all__ = ["mutable_tensor", "tensor"]
