"""``neuron-explorer`` and ``neuron-profile``, standing in: capture and view, in the documented formats."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import numpy as np

import standin_device as device

OLD = Path(sys.argv[0]).name == "neuron-profile"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--version"]:
        print(f"{'neuron-profile 2.27' if OLD else 'neuron-explorer 2.33.1'} (stand-in)")
        return
    verb, flags, rest = parsed(arguments)
    (capture if verb == "capture" else view)(flags, rest)


def parsed(arguments: list[str]) -> tuple[str, dict[str, str], list[str]]:
    flags: dict[str, str] = {}
    rest: list[str] = []
    waiting = list(arguments[1:])
    while waiting:
        one = waiting.pop(0)
        if one in ("-n", "-s", "--output-format", "--data-path", "-d", "--num-exec"):
            flags[one] = waiting.pop(0)
        elif one.startswith("-"):
            name, _, value = one.partition("=")
            flags[name] = value
        else:
            rest.append(one)
    return arguments[0], flags, rest


def capture(flags: dict[str, str], rest: list[str]) -> None:
    if OLD and "--enable-dge-notifs" in flags:
        sys.exit("unknown flag `enable-dge-notifs'")
    loaded = device.load(flags["-n"])
    given = dict(zip(rest[::2], rest[1::2], strict=True))
    try:
        outputs, _ = device.run(loaded, [np.load(given[name]) for name in loaded.inputs])
    except device.NrtError as error:
        sys.exit(str(error))
    if "--save-output-npy" in flags:
        for position, output in enumerate(outputs):
            np.save(
                f"output_{position}.npy",
                output.view(f"u{output.dtype.itemsize}") if output.dtype.kind == "V" else output,
            )
    said = json.dumps(device.summary(loaded))
    if device.switches().get("ntff_truncated"):
        said = said[: len(said) // 2]
    trace = Path(flags["-s"])
    nth = flags.get("--profile-nth-exec")
    trace = trace.with_name(f"{trace.stem}_exec_{nth}{trace.suffix}") if nth else trace
    trace.write_text(said)


def view(flags: dict[str, str], _rest: list[str]) -> None:
    try:
        counters: dict[str, Any] = json.loads(Path(flags["-s"]).read_text())
    except ValueError:
        sys.exit("failed to parse NTFF: unexpected end of file")
    if OLD:
        counters = {OLD_NAMES.get(name, name): value for name, value in counters.items()}
    if flags["--output-format"] == "summary-json":
        if device.switches().get("json_gone"):
            sys.exit("unsupported output format: summary-json")
        print(json.dumps({uuid.uuid4().hex: counters}))
    elif flags["--output-format"] == "parquet" and not OLD:
        folder = Path(flags["--data-path"]) / "profile" / "tables"
        folder.mkdir(parents=True)
        (folder / "Summary.parquet").write_text(json.dumps([counters]))
    else:
        sys.exit(f"unsupported output format: {flags['--output-format']}")


OLD_NAMES = {
    "tensor_engine_active_time_percent": "pe_engine_active_time_percent",
    "vector_engine_active_time_percent": "dve_engine_active_time_percent",
    "scalar_engine_active_time_percent": "act_engine_active_time_percent",
    "gpsimd_engine_active_time_percent": "pool_engine_active_time_percent",
    "spill_save_bytes": "sb_spill_save_bytes",
    "spill_reload_bytes": "sb_spill_reload_bytes",
}

main(sys.argv[1:])
