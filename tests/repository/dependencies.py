"""Asks the vulnerability database about every installed dependency; exits with 1 for a finding, else with 0.

Only vulnerabilities with a fixed version count: there is nothing to do about the others but to know of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

LONGEST_S = 90
COMMAND = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable"]


def main() -> int:
    """Prints what was found, and about how many packages nothing could be learnt."""
    report = asked()
    found = findings(report)
    sys.stdout.write("\n".join([*found, summary(report)]) + "\n")
    return 1 if found else 0


def summary(report: dict[str, Any]) -> str:
    """A package that the database did not answer about was not audited: it does not pass for sound."""
    every = report["dependencies"]
    answered = [one for one in every if "skip_reason" not in one]
    if not answered:
        return f"NOT AUDITED: the vulnerability database answered about none of {len(every)} dependencies."
    count = len(findings(report))
    return f"Audited {len(answered)} of {len(every)} dependencies: {count} known vulnerabilities with a fix."


def asked() -> dict[str, Any]:
    """What pip-audit says; of no dependency where it could not ask."""
    try:
        answer = subprocess.run(COMMAND, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        return json.loads(answer.stdout)
    except (subprocess.TimeoutExpired, OSError, ValueError):
        return {"dependencies": []}


def findings(report: dict[str, Any]) -> list[str]:
    return [
        f"{one['name']} {one['version']}: {known['id']}, fixed in {', '.join(known['fix_versions'])}"
        for one in report["dependencies"]
        for known in one.get("vulns", ())
        if known["fix_versions"]
    ]


if __name__ == "__main__":
    sys.exit(main())
