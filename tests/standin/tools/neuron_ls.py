"""``neuron-ls``, standing in: the JSON of SDK 2.20 to 2.33, or of 2.34."""

from __future__ import annotations

import json
import sys

import standin_switches as device

switches = device.switches()
cores, lnc = int(switches.get("cores", 4)), int(switches.get("lnc", 1))
about = {"instance_type": "trn2.3xlarge", "logical_neuroncore_config": lnc, "stand_in": device.STAND_IN}
found = {
    "neuron_device": 0, "bdf": "0000:e1:00.0", "cpu_affinity": "0-1", "numa_node": "0", "connected_to": None,
    "nc_count": cores, "memory_size": 103079215104, "neuroncore_ids": list(range(cores)),
    "neuron_processes": [{"pid": pid, "command": "", "neuron_runtime_version": "2.35.0"} for pid in switches.get("strangers", [])],
}  # fmt: skip
devices = [] if switches.get("no_devices") else [found]
if switches.get("neuron_ls_object"):
    if "--output-format" not in sys.argv:
        sys.exit("unknown flag: --json-output")
    print(json.dumps({**about, "neuron_devices": devices}))
elif "--json-output" in sys.argv:
    print(json.dumps([{**about, **one} for one in devices]))
else:
    sys.exit("unknown flag")
