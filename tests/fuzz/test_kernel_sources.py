"""Whatever a kernel's text is, the real verification answers in time with a verdict or a refusal that has a code.

With NKI_ANVIL_ENDURANCE=1 a thousand texts, else a dozen.
"""

from __future__ import annotations

import os
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import anyio
import numpy as np
import pytest
from fuzz.kernel_sources import mutated, sentence
from line_server import KERNEL, REFERENCE

from nki_anvil.backends.child import ChildBackend
from nki_anvil.lab.auditing import audit
from nki_anvil.lab.evaluating import evaluate_candidates
from nki_anvil.lab.laboratory import Laboratory
from nki_anvil.lab.opening import open_problem
from nki_anvil.lab.rules import Rules

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TEXTS = 1000 if os.environ.get("NKI_ANVIL_ENDURANCE") else 14
AT_ONCE = 100
LONGEST_S = 180.0
"""For one text on a busy machine: far above its own limits, which have tests of their own."""
CODE = re.compile(r"\[[a-z_]+\.[a-z_]+\]$")


async def test_any_text_gets_a_verdict_or_a_refusal_with_a_code(tmp_path: Path) -> None:
    chance = random.Random(14)
    (tmp_path / "twice.py").write_text(REFERENCE)
    (tmp_path / "kernel.py").write_text(KERNEL)
    lab = Laboratory(
        workspace=tmp_path, data=tmp_path / "data", backends={"simulator": ChildBackend(tmp_path / "jobs")},
        random=np.random.default_rng(1), clock=lambda: datetime.now(UTC), rules=Rules(guard_refuses=False),
    )  # fmt: skip
    await open_problem(lab, "twice.py", kernel_path="kernel.py")
    texts = [mutated(KERNEL, chance) if number % 2 else sentence(chance) for number in range(TEXTS)]
    judged = 0
    for first in range(0, TEXTS, AT_ONCE):
        some = texts[first : first + AT_ONCE]
        with anyio.fail_after(LONGEST_S * len(some)):
            found = await evaluate_candidates(lab, "twice", list(some), limit=50)
        for one in found.candidates:
            assert one.attempt is not None or CODE.search(one.error), one
        for number in found.tried:
            judged += 1
            (verdict,) = lab.problem("twice").attempts.get(number).verdicts()
            assert verdict.passed or verdict.failed_gate, number
    assert judged > TEXTS // 2
    assert audit(lab, "twice").clean
    assert not list((tmp_path / "jobs").iterdir()), "a job's folder is left behind"
