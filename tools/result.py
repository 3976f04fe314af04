"""What every tool answers: one model that begins with what a person would say and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

if TYPE_CHECKING:
    from nki_anvil.lab.workbench import Workbench

DIGITS = 6
"""Significant digits of a number that is shown: what is behind them is noise, and costs tokens."""


class Result(BaseModel):
    """Base of all results. Clients show a model this object and nothing else, so it holds everything it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: Annotated[str, Field(description="What happened, in one or two sentences.")]
    next_steps: Annotated[list[str], Field(description="What to do next; each step names a tool.")]

    @model_serializer(mode="wrap")
    def _shortened(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _shortened(dump(self))

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The fields that `record` has under the same names, and those given."""
        shared = {name: getattr(record, name) for name in cls.model_fields if hasattr(record, name)}
        return cls(**shared | fields)


class LongResult(Result):
    """The result of a tool that may be detached: every field of its own is null while it is pending."""

    pending: Annotated[bool, Field(description="True: the work goes on; call again with the same arguments.")] = False

    @property
    def texts(self) -> tuple[str, ...]:
        """Digests of the kernel texts that it is about."""
        digest = getattr(self, "digest", None)
        return (digest,) if digest else ()

    def outdated(self, bench: Workbench) -> bool:
        """Whether what it says of these kernels, or of best, is not so any more."""
        return False


def _shortened(value: Any) -> Any:
    if isinstance(value, float):
        return value if value.is_integer() else float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in cast(dict[str, Any], value).items()}
    return [_shortened(item) for item in cast(list[Any], value)] if isinstance(value, list | tuple) else value
