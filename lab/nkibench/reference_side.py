"""What the reference's process does for the benchmark: draw as AccelOpt draws, compute, time, and leave the arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nki_anvil.backends.corpus.execution_process import fastest
from nki_anvil.lab.arithmetic import Arithmetic, is_array
from nki_anvil.lab.reference_module import ReferenceFault, ReferenceModule

Record = dict[str, Any]


def timed(module: ReferenceModule, request: Record, folder: Path) -> Record:
    """One draw: the kernel's arguments, the expected outputs, the processor seconds of ``forward``, and its work."""
    drawn = module.get_inputs(int(request["seed"]))
    arguments = [_kept(item, folder / f"input{i}.npy") for i, item in enumerate(_transformed(module, drawn))]
    seconds, outputs = fastest(lambda: module.plain(drawn))
    for position, output in enumerate(outputs):
        np.save(folder / f"expected{position}.npy", output)
    moved = sum(item.nbytes for item in [*filter(is_array, drawn), *outputs])
    answer: Record = {"bytes": float(moved), "arguments": arguments, "outputs": len(outputs), "seconds": seconds}
    if request["count"]:
        del outputs
        counting = Arithmetic()
        module.forward(drawn, counting)
        answer |= {"matmul_flops": counting.matmul_flops, "vector_flops": counting.vector_flops}
    return answer


def _transformed(module: ReferenceModule, drawn: list[Any]) -> list[Any]:
    transform = module.function("transform_to_nki_inputs")
    if transform is None:
        return drawn
    try:
        return list(transform(drawn))
    except Exception as error:
        raise ReferenceFault(f"transform_to_nki_inputs raised {type(error).__name__}: {error}.") from error


def _kept(item: Any, path: Path) -> Record:
    """A scalar as it is, an array beside the answer, with the bytes of its own dtype."""
    if not is_array(item):
        return {"value": item}
    from nki_anvil.sim.dtypes import name_of

    np.save(path, np.ascontiguousarray(item).view(np.uint8).reshape(-1))
    return {"shape": list(item.shape), "dtype": name_of(item.dtype)}
