"""Parameters that several tools share, described once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Problem = Annotated[str, Field(description="Name of an open problem.", examples=["rmsnorm"])]

KernelPath = Annotated[
    str | None,
    Field(
        description="Kernel file in the workspace; default: the problem's own.", examples=["kernels/rmsnorm/kernel.py"]
    ),
]

Source = Annotated[str | None, Field(description="Kernel text instead of a file.")]

Parent = Annotated[
    str | None, Field(description="Digest of the kernel this one was made from; default best.", examples=["3fa94c1e"])
]

Plan = Annotated[
    str | None, Field(description="What this kernel tries.", examples=["double the free dimension of the loads"])
]

ShownId = Annotated[
    str | None, Field(description="From the query_memory answer that inspired it.", examples=["s-1f2e3d"])
]
