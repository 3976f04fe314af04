"""The process of one kernel of the user's own, or of one file's examples: ``python ... case_process FOLDER``.

It reads ``request.json`` there and leaves ``answer.json``, and the outputs in ``outputs.npz`` where they are asked
for.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from nki_anvil.backends.corpus import difference, examples, references, vendor
from nki_anvil.backends.corpus.arguments import arguments
from nki_anvil.backends.corpus.examining import Record, examine, failure
from nki_anvil.backends.corpus.source import Source, by_name
from nki_anvil.backends.worker import isolation


def main(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text())
    isolation.die_with_parent()
    isolation.volunteer_for_out_of_memory()
    isolation.limit(isolation.Bounds(int(request["seconds"]) + 5, int(request["memory_bytes"])))
    sys.setrecursionlimit(10_000)
    try:
        answer = OPERATIONS[request["operation"]](request, folder)
    except MemoryError:
        answer = {"failed": {"code": "OutOfMemory", "message": "It needs more memory than it may have."}}
    except (Exception, SystemExit) as error:
        answer = {"failed": failure(error)}
    partial = folder / "answer.partial"
    partial.write_text(json.dumps(answer))
    partial.replace(folder / "answer.json")


def one_kernel(request: Record, folder: Path) -> Record:
    """A kernel on the arguments that are stated for it, against the reference that is."""
    from nki_anvil.sim.kernel import jit
    from nki_anvil.sim.modules import install

    with install(request["version"]):
        source = Source(Path(request["file"]), request["roots"])
        kernel = jit(source.find(request["entry"]))
        kernel = kernel[request["lnc"]] if request["lnc"] else kernel
        positional, named = arguments(source, request)
        before = by_name(kernel.function, *copy.deepcopy((positional, named)))
        reference = _reference(source, request, kernel)
        examined = examine(kernel, positional, named, version=request["version"])
        record = {**examined.record, "left_out": source.left_out}
        if examined.executed and reference is not None:
            record |= examples.compared(reference, before, examined, request["tolerance"])
    if request.get("keep_outputs"):
        record["close"] = difference.tolerance([*before.values(), *examined.outputs])
        _keep(folder, examined.outputs)
    return record


def _reference(source: Source, request: Record, kernel: Any) -> references.Reference | None:
    if request["reference"]:
        return references.stated(source, request["reference"])
    return references.named_after(source, kernel.function.__name__)


def all_examples(request: Record, _folder: Path) -> Record:
    return examples.run(Path(request["file"]), request["roots"], request["version"])


def vendors_simulator(request: Record, folder: Path) -> Record:
    """The same kernel on the same arguments in the vendor's own simulator, which this Python must have."""
    outputs = vendor.simulate(request)
    _keep(folder, difference.arrays(outputs))
    return {"executed": True, "version": vendor.version()}


def _keep(folder: Path, outputs: list[Any]) -> None:
    """Outputs as float64 and integers, which every NumPy reads back."""
    plain = [one.astype(np.float64) if one.dtype.kind not in "biuf" else one for one in outputs]
    np.savez(folder / "outputs.npz", *plain)


OPERATIONS = {"kernel": one_kernel, "examples": all_examples, "vendor": vendors_simulator}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
