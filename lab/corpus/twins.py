"""One kernel in two simulators, ours and the vendor's, on the same arguments: where they differ, one is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from nki_anvil.backends.corpus import difference
from nki_anvil.backends.corpus.child import Answer, Bounds, ask
from nki_anvil.backends.corpus.vendor import MISSING
from nki_anvil.backends.errors import ArgumentsInvalid, PathUnreadable, SdkMissing
from nki_anvil.lab.corpus import problems, sidecar
from nki_anvil.lab.corpus.fate import fate
from nki_anvil.lab.corpus.sidecar import Sidecar, Stated


class Twin(BaseModel):
    """One kernel's outputs in both simulators."""

    kernel: str
    agree: bool
    relative_error: float | None = None
    """Largest relative L2 distance among the outputs, the vendor's being the yardstick."""
    largest_error: float | None = None
    tolerance: float | None = None
    ours: str = ""
    """Why ours did not come to its end."""
    vendors: str = ""
    """Why the vendor's did not."""


class Twins(BaseModel):
    """All stated runs of one file."""

    file: str
    vendor_version: str
    kernels: list[Twin]

    def __bool__(self) -> bool:
        return all(one.agree for one in self.kernels)

    def __str__(self) -> str:
        head = f"{self.file}, against nki {self.vendor_version or 'of unknown version'}"
        return "\n".join([head, *map(_line, self.kernels)])


def _line(one: Twin) -> str:
    """One kernel as one line."""
    verdict = f"{'agrees' if one.agree else 'DIFFERS':<8}{one.kernel}"
    if one.relative_error is not None:
        return f"{verdict}  relative L2 {one.relative_error:.2g}, largest {one.largest_error:.2g}"
    said = [f"{who}: {why}" for who, why in (("ours", one.ours), ("the vendor's", one.vendors)) if why]
    return f"{verdict}  {'; '.join(said)}"


def compare(
    file: Path,
    *,
    entry: str = "",
    statements: Path | None = None,
    vendor_python: str = "",
    bounds: Bounds | None = None,
) -> Twins:
    """Run a file's stated kernels in both simulators; a seed's or a problem folder's states itself.

    Raises SdkMissing where the vendor's package is not to be had, PathUnreadable for a file that is not there, and
    ArgumentsInvalid where nothing states the kernel's arguments.
    """
    file = problems.kernel_file(file)
    if not file.is_file():
        raise PathUnreadable(f"{file} is no file.", "Name the file that holds the kernel.")
    place = statements.expanduser().resolve() if statements else file.parent / sidecar.FILE
    stated = _statements(file, place)
    wanted = [one for one in stated.kernel if _is_about(one, file, place) and entry in ("", one.entry, one.name)]
    if not wanted:
        message = f"{place} says nothing of {entry or 'a kernel'} in {file.name}, so its arguments are not known."
        raise ArgumentsInvalid(message, "Add a [[kernel]] with file, entry and arguments to it.")
    roots = [str((place.parent / root).resolve()) for root in stated.roots]
    pair = _Pair(file, roots, stated, vendor_python, bounds or Bounds())
    kernels = [pair.twin(one) for one in wanted]
    return Twins(file=str(file), vendor_version=pair.version, kernels=kernels)


def _statements(file: Path, place: Path) -> Sidecar:
    """The corpus.toml, or what the problem folder says in its stead."""
    if not place.exists() and (file.parent / problems.FILE).is_file():
        return problems.stated(file)
    return sidecar.read(place, file.parent)


def _is_about(one: Stated, file: Path, place: Path) -> bool:
    return (place.parent / one.file).resolve() == file or Path(one.file).name == one.file == file.name


class _Pair:
    """The two simulators for one file."""

    def __init__(self, file: Path, roots: list[str], stated: Sidecar, vendor_python: str, bounds: Bounds) -> None:
        self.file, self.roots, self.bounds = file, roots, bounds
        self.python, self.stated_version = stated.python, stated.version
        self.vendor_python = vendor_python
        self.version = ""

    def twin(self, one: Stated) -> Twin:
        vendors = self._ask(one, "vendor", self.vendor_python)
        failed = vendors.record.get("failed")
        if failed and failed["code"] == MISSING:
            raise _missing(self.vendor_python, str(failed["message"]))
        self.version = vendors.record.get("version", "")
        ours = self._ask(one, "kernel", self.python)
        return _compared(one, ours, vendors)

    def _ask(self, one: Stated, operation: str, python: str) -> Answer:
        request = {**one.request(self.stated_version), "operation": operation, "keep_outputs": True, "reference": ""}
        return ask({**request, "file": str(self.file), "roots": self.roots}, self.bounds, python or None)


def _missing(python: str, why: str) -> SdkMissing:
    where = python or "this Python"
    return SdkMissing(
        f"The vendor's simulator is not installed for {where}: {why}.",
        "Install the Neuron SDK's nki package there, or name a Python that has it with --vendor-python.",
    )


def _compared(one: Stated, ours: Answer, vendors: Answer) -> Twin:
    mine = fate(one.file, one.label, ours.record)
    stopped = "" if mine.executed else f"{mine.status}: {mine.why}"
    theirs = str(vendors.record.get("failed", {}).get("message", ""))
    if stopped or theirs:
        # Where both refuse they agree, though their words differ.
        return Twin(kernel=one.label, agree=bool(stopped and theirs), ours=stopped, vendors=theirs)
    try:
        found = difference.of_all(ours.outputs, vendors.outputs)
    except ValueError as error:
        return Twin(kernel=one.label, agree=False, ours=str(error))
    allowed = one.tolerance if one.tolerance is not None else ours.record["close"]
    return _apart(one.label, found, allowed)


def _apart(label: str, found: list[dict[str, Any]], allowed: float) -> Twin:
    relative = max((one["relative"] for one in found), default=0.0)
    largest = max((one["largest"] for one in found), default=0.0)
    agree = relative <= allowed
    return Twin(kernel=label, agree=agree, relative_error=relative, largest_error=largest, tolerance=allowed)
