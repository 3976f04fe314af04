"""How one kernel fared, from the record of its process to one line of the report."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel

Status = Literal[
    "matches", "runs", "refused", "differs", "reference failed", "breaks rules", "not traced", "not executed",
    "broke off", "unread", "untried",
]  # fmt: skip
GOOD: Final = frozenset({"matches", "runs", "refused"})
OPEN: Final = frozenset({"untried"})
"""Nothing is known: the folder does not say how to call it."""


class Fate(BaseModel):
    """One run of one kernel: how far it came and what it was compared with."""

    file: str
    kernel: str
    status: Status
    why: str = ""
    traced: bool = False
    executed: bool = False
    instructions: int | None = None
    rules: list[str] = []
    """Codes of the rules broken, warnings among them."""
    reference: str = ""
    relative_error: float | None = None
    """Largest relative L2 error among the outputs."""
    largest_error: float | None = None
    tolerance: float | None = None
    latency_us: float | None = None
    """Modelled, not measured."""

    def __str__(self) -> str:
        facts = [
            f"{self.instructions} instructions" if self.instructions is not None else "",
            f"error {self.relative_error:.2g} of {self.tolerance:.2g}" if self.relative_error is not None else "",
            f"modelled {self.latency_us:.1f} us" if self.latency_us is not None else "",
            f"rules {' '.join(self.rules)}" if self.rules else "",
            self.why,
        ]
        place = f"{self.file}:{self.kernel}" if self.kernel else self.file
        return f"{self.status:<16}  {place}  {'; '.join(fact for fact in facts if fact)}".rstrip()

    @property
    def good(self) -> bool | None:
        """None where nothing was tried."""
        return None if self.status in OPEN else self.status in GOOD


def fate(file: str, kernel: str, record: dict[str, Any], refused: str = "") -> Fate:
    """What a process's record means; ``refused`` is the code that the kernel is meant to be refused with."""
    status, why = _judged(record, refused)
    differences: list[dict[str, Any]] = record.get("differences") or []
    return Fate(
        file=file,
        kernel=kernel,
        status=status,
        why=why,
        traced=record.get("traced", False),
        executed=record.get("executed", False),
        instructions=record.get("instructions"),
        rules=list(dict.fromkeys(one["code"] for one in record.get("findings", []))),
        reference=record.get("reference", ""),
        relative_error=max((one["relative"] for one in differences), default=None),
        largest_error=max((one["largest"] for one in differences), default=None),
        tolerance=record.get("tolerance"),
        latency_us=record.get("latency_us"),
    )


def _judged(record: dict[str, Any], refused: str) -> tuple[Status, str]:
    status, why, code = _ending(record)
    if not refused:
        return status, why
    if refused == code:
        return "refused", why
    return ("differs", f"it is meant to be refused with {refused}, and was not") if code == "" else (status, why)


def _ending(record: dict[str, Any]) -> tuple[Status, str, str]:
    """Status, reason, and the code of what stopped it."""
    if failed := record.get("failed"):
        return "broke off", _said(failed), str(failed.get("code", ""))
    if error := record.get("error"):
        return ("not executed" if record["traced"] else "not traced"), _said(error), str(error["code"])
    broken = [one for one in record["findings"] if one["severity"] == "error"]
    if broken:
        return "breaks rules", "; ".join(map(_said, broken)), str(broken[0]["code"])
    return *_compared(record), ""


def _compared(record: dict[str, Any]) -> tuple[Status, str]:
    if why := record.get("reference_error"):
        return "reference failed", why
    if "differences" not in record:
        return "runs", "nothing to compare it with"
    off = [one for one in record["differences"] if not one["relative"] <= record["tolerance"]]
    said = ", ".join(f"output {one['output']} is off by {one['relative']:.2g}" for one in off)
    return ("differs", f"{said}; {record['tolerance']:g} is allowed") if off else ("matches", "")


def _said(one: dict[str, Any]) -> str:
    place = f" (line {one['line']})" if one.get("line") else ""
    return f"[{one['code']}]{place} {one['message']}"
