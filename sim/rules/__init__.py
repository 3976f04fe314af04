"""What the chip forbids, as rules over a program: ``check`` applies them, ``TABLE`` lists them."""

from __future__ import annotations

from nki_anvil.sim.program import Program
from nki_anvil.sim.rules.finding import Finding
from nki_anvil.sim.rules.reading import Reading
from nki_anvil.sim.rules.rule import Rule, Violation
from nki_anvil.sim.rules.table import TABLE

__all__ = ["TABLE", "Finding", "Rule", "check"]


def check(program: Program, chip: str = "trn2") -> list[Finding]:
    """Every rule on a validated program: one finding per code and line, errors first, then by line and code."""
    reading = Reading(program, chip)
    found = [
        Finding(rule.code, severity, violation.message, violation.line, rule.remedy, violation.times)
        for rule in TABLE
        if (severity := rule.severity_in(program.version)) != "off"
        for violation in _by_line(rule, reading)
    ]
    return sorted(found, key=lambda finding: (finding.severity != "error", finding.line, finding.code))


def _by_line(rule: Rule, reading: Reading) -> list[Violation]:
    """A rule's breaches, the first of each line with all their counts."""
    lines: dict[int, Violation] = {}
    for line, message, times in rule.breaches(reading):
        known = lines.get(line)
        lines[line] = Violation(line, known.message, known.times + times) if known else Violation(line, message, times)
    return list(lines.values())
