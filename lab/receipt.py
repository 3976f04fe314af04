"""The evidence of a finished problem in one file: whoever has it can decide everything again without this workspace.

The seal is no signature: it says that the file is whole. Who wants to be sure of its author keeps the seal elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from nki_anvil.backends.job import Record
from nki_anvil.backends.run import Origin
from nki_anvil.lab import seals, state
from nki_anvil.lab.best import Best
from nki_anvil.lab.comparison import Comparison
from nki_anvil.lab.digest import digest
from nki_anvil.lab.recomputing import faults, same
from nki_anvil.lab.verdict import GATE_NAMES, Verdict


class Exhibit(Record):
    """One kernel, and why it stands where it stands."""

    attempt: int
    digest: str
    text: str
    verdict: Verdict
    comparison: Comparison
    """The one that made it best, or the first."""


class Receipt(Record):
    """``evidence.<origin>.json``."""

    schema_number: int = 1
    written_at: str
    problem: str
    problem_version: str
    sources: dict[str, str]
    """Fingerprints of the files that define the problem, by path in its workspace, or as they are where they lie
    elsewhere."""
    origin: Origin
    best: Exhibit
    baseline: Exhibit
    claim: Comparison
    """Best against the baseline in fresh rounds."""
    versions: dict[str, str]
    seal: str = ""
    """SHA-256 of all the rest."""


def path(folder: Path, origin: Origin) -> Path:
    return folder / f"evidence.{origin}.json"


def write(folder: Path, receipt: Receipt) -> Receipt:
    """Seal and store it."""
    sealed = receipt.model_copy(update={"seal": seal(receipt)})
    place = path(folder, receipt.origin)
    seals.replace(folder, place, sealed)
    return sealed


def read(folder: Path, origin: Origin) -> Receipt | None:
    """The last that was stored, as it was stored. Raises StateDamaged."""
    place = path(folder, origin)
    return seals.read_last(folder, place.name, lambda: written(place))


def written(place: Path) -> Receipt | None:
    """What lies there, whoever wrote it. Raises StateDamaged, also where a name stands twice: which of the two counts
    is each reader's own choice."""
    found = state.read_model(place, Receipt)
    if found is not None:
        json.loads(state.read_text(place), object_pairs_hook=partial(_each_once, place))
    return found


def _each_once(place: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if twice:
        raise state.damaged(place, f"{twice[0]!r} stands in it twice")
    return dict(pairs)


def seal(receipt: Receipt) -> str:
    bare = receipt.model_copy(update={"seal": ""})
    return hashlib.sha256(bare.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


def versions() -> dict[str, str]:
    return {
        "nki-anvil": metadata.version("nki-anvil"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(terse=True),
    }


def receipt_faults(receipt: Receipt) -> Iterator[str]:
    """Everything in it that does not follow from its own texts and samples."""
    if receipt.seal != seal(receipt):
        yield "evidence: the seal does not fit; something in it was changed"
    for name, shown in (("best", receipt.best), ("baseline", receipt.baseline)):
        yield from (f"evidence, {name}: {fault}" for fault in _exhibit_faults(receipt, shown))
    yield from (f"evidence, claim: {fault}" for fault in faults(receipt.claim))
    if receipt.claim.new_digest != receipt.best.digest:
        yield "evidence, claim: it is not about the best kernel"
    if receipt.claim.best_digest not in (None, receipt.baseline.digest):
        yield "evidence, claim: best was not compared with the baseline"


def _exhibit_faults(receipt: Receipt, shown: Exhibit) -> Iterator[str]:
    if digest(shown.text) != shown.digest:
        yield "the digest is not that of its text"
    yield from verdict_faults(shown.verdict, shown.digest)
    if shown.verdict.problem_version != receipt.problem_version:
        yield "the verdict is about another version of the problem"
    if shown.comparison.new_digest != shown.digest:
        yield "the comparison is about another kernel"
    if shown.comparison.outcome != "keep":
        yield f"its comparison is stored as {shown.comparison.outcome}"
    yield from faults(shown.comparison)


def verdict_faults(verdict: Verdict, kernel: str) -> Iterator[str]:
    """Of a verdict that has to stand for this kernel."""
    if verdict.kernel_digest != kernel:
        yield "the verdict is about another kernel"
    if not verdict.passed:
        yield f"it did not pass: {verdict.failed_gate or 'unknown gate'}"
    if verdict.passed and any(gate.passed is False for gate in verdict.gates):
        yield "the verdict says passed, and one of its gates failed"
    if tuple(gate.name for gate in verdict.gates) != GATE_NAMES:
        yield "the verdict does not have the nine gates"


def best_faults(best: Best) -> Iterator[str]:
    """The pointer against the comparison that it names as its reason."""
    comparison = best.receipt.comparison
    if comparison.new_digest != best.digest:
        yield "best: its receipt is about another kernel"
    if comparison.outcome != "keep":
        yield f"best: its receipt says {comparison.outcome}"
    if not same(comparison.latency_us, best.latency_us):
        yield f"best: latency is {best.latency_us:g} us, and its receipt says {comparison.latency_us:g} us"
    if best.receipt.replaced != comparison.best_digest:
        yield "best: it replaced another kernel than it was compared with"
    yield from (f"best: {fault}" for fault in faults(comparison))
