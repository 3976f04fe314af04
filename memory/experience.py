"""What memory holds: experiences, the evidence for them, and where they apply. It must not know how they are stored."""

from __future__ import annotations

import hashlib
from typing import Final, Literal

from pydantic import Field, model_validator

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin

Kind = Literal["speedup", "pitfall", "fact"]
Provenance = Literal["measured", "modelled", "documented", "asserted"]
Outcome = Literal["kept", "reverted", "undecided", "wrong"]

IMPORTED: Final = "imported"
"""How the source begins of what came from strangers."""

PROVENANCE_OF: Final[dict[Origin, Provenance]] = {"device": "measured", "modelled": "modelled"}


class Tags(Record):
    """Where an experience applies; an empty field means anywhere."""

    families: tuple[str, ...] = ()
    """Operator families: ``matmul``, ``norm``, ``softmax``, ``attention``, ``elementwise`` ..."""
    bottleneck: str = ""
    """``memory``, ``compute``, ``pipeline``, ``underutilized``, or the name of a gap."""
    engines: tuple[str, ...] = ()
    dtype: str = ""
    shape_class: str = ""
    chip: str = ""
    nki_version: str = ""
    """``beta1``, or ``>=0.3`` for advice that names an API of the current line."""
    technique: str = ""

    def words(self) -> tuple[str, ...]:
        """Every tag that is set."""
        single = (self.bottleneck, self.dtype, self.shape_class, self.chip, self.technique)
        return tuple(word for word in (*self.families, *self.engines, *single) if word)


class Draft(Record):
    """A lesson as its author writes it."""

    kind: Kind
    title: str
    when_to_use: str
    advice: str
    slow_snippet: str = ""
    fast_snippet: str = ""
    tags: Tags = Tags()

    def content_hash(self) -> str:
        """SHA-256 of what it says, whatever the case and spacing; kind and tags do not count."""
        text = (self.title, self.when_to_use, self.advice, self.slow_snippet, self.fast_snippet)
        said = "\x1f".join(" ".join(part.casefold().split()) for part in text)
        return hashlib.sha256(said.encode()).hexdigest()


class Measurement(Record):
    """What came of one attempt; made by the server from its own records, never from what a caller says."""

    problem: str
    attempt: int
    digest: str
    version: str = ""
    """Of the problem: another workspace may have another one of that name. Empty where it was not kept yet."""
    outcome: Outcome
    origin: Origin
    speedup: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Against the kernel that was best before."""
    speedup_low: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    speedup_high: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _ordered(self) -> Measurement:
        present = [value for value in (self.speedup_low, self.speedup, self.speedup_high) if value is not None]
        if present != sorted(present):
            raise ValueError(f"the speedup {self.speedup} lies outside its interval")
        return self

    @property
    def use(self) -> str:
        """The name of this use of an advice when no answer of memory stands behind it."""
        of = f"{self.problem}@{self.version}" if self.version else self.problem
        return f"{of}#{self.attempt}:{self.digest}"


class Evidence(Record):
    """An experience's record at one origin. Device evidence, where there is any, stands before modelled evidence."""

    kept: int = 0
    reverted: int = 0
    undecided: int = 0
    wrong: int = 0
    speedup: float | None = None
    """The largest of the kept attempts."""
    speedup_low: float | None = None
    speedup_high: float | None = None
    origin: Origin | None = None

    @property
    def uses(self) -> int:
        """How often the advice was followed to a result."""
        return self.kept + self.reverted + self.wrong

    def standing(self, kind: Kind) -> float:
        """Share of uses that bear it out, 0 to 1; one half where nothing is known. Failures bear out a pitfall."""
        good = self.uses - self.kept if kind == "pitfall" else self.kept
        return (good + 1) / (self.uses + 2)

    @property
    def line(self) -> str:
        """The record in one line."""
        if self.origin is None:
            return "untried"
        counts = f"kept {self.kept}, reverted {self.reverted}, wrong {self.wrong} ({self.origin})"
        return counts if self.speedup is None else f"{counts}, speedup up to {self.speedup:.2f}"


class Experience(Draft):
    """A stored lesson."""

    id: str
    provenance: Provenance
    source: str = ""
    """Where it comes from: a public address, or a problem and its attempt."""
    created_at: float = 0.0
    superseded_by: str | None = None
    retired_at: float | None = None

    @property
    def hearsay(self) -> bool:
        """Whether strangers say it, and nobody vouched for it."""
        return self.source == IMPORTED or self.source.startswith(f"{IMPORTED}:")

    def record(self, evidence: Evidence) -> str:
        """What came of it in one line, which says of hearsay that it is: figures may stand in its words."""
        if not self.hearsay:
            return evidence.line
        if evidence.origin is None:
            return f"{IMPORTED}: asserted by somebody, measured by nobody here"
        return f"{IMPORTED}: asserted by somebody; here {evidence.line}"

    @property
    def active(self) -> bool:
        """Whether it may still be shown."""
        return self.superseded_by is None and self.retired_at is None
