"""How the stand-in is made to fail: ``switches.json`` in ``$STANDIN_HOME``. It loads nothing, so that tools start fast."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

STAND_IN = "computed by the embedded simulator; nothing was measured"
HOME = Path(os.environ.get("STANDIN_HOME", "/nonexistent"))

SWITCHES = {
    "compile_error": "code that the compiler refuses with",
    "compile_hang": "the compiler never ends",
    "compile_seconds": "what compiling takes besides",
    "needs_core": "compiling fails without a visible core, leaving no file",
    "run_error": "status that every run ends with, e.g. NRT_EXEC_OOB(1006)",
    "run_hang": "runs never end",
    "run_crash": "the running process is ended by a signal",
    "run_seconds": "what a run takes besides",
    "wrong_chip": "NEFFs are refused as another architecture's",
    "wrong_when_timed": "benchmark() computes something else",
    "summary_only": "benchmark() returns no single durations",
    "json_gone": "the profiler has no summary-json any more",
    "ntff_truncated": "the profiler writes half of a trace",
    "nrtpy_missing": "there is no nrtpy",
    "neuron_ls_object": "neuron-ls answers as from 2.34 on",
    "no_devices": "neuron-ls lists nothing",
    "strangers": "processes that neuron-ls lists",
    "cores": "cores per device, as neuron-ls counts them",
    "lnc": "physical cores in one of those",
}


def switches() -> dict[str, Any]:
    try:
        found = json.loads((HOME / "switches.json").read_text())
    except OSError:
        return {}
    assert set(found) <= set(SWITCHES), found
    return found
