"""The process that runs kernel text on a host with an SDK: it compiles the kernel with dummy arrays and knows no data.

Whatever it says about success has no authority: the compiled file it leaves behind is what counts. The process is given
a folder, an environment and limits of its own, and is gone, with everything it started, before any input is drawn.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from nki_anvil.backends.worker import isolation, kernel_text

KERNEL = "kernel.py"
ANSWER = "compiled.json"
_LINE_END = re.compile(r"\r\n|\r|\n")
"""Where a line ends to Python; ``splitlines`` knows more ends."""


def main() -> None:
    """Read the request from standard input, compile in the working folder, and say what happened in a file."""
    isolation.die_with_parent()
    request = json.load(sys.stdin)
    limits = request["limits"]
    isolation.limit(isolation.Bounds(int(request["compile_s"]) * 8 + 60, 1 << 50, None, int(limits["output_bytes"])))
    answer: dict[str, Any] = {"error": None, "entry": None, "left_out": []}
    try:
        _compile(request, answer)
    except BaseException:
        answer["error"] = traceback.format_exc()[-20_000:]
    Path(ANSWER).write_text(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)


def _compile(request: dict[str, Any], answer: dict[str, Any]) -> None:
    text = kernel_text.parse(request["kernel"])
    answer["left_out"] = text.left_out
    answer["entry"] = kernel_text.entry_name(text, request["entry"])
    Path(KERNEL).write_text(kept(text))
    function = getattr(_imported(), answer["entry"])
    DIALECTS[request["dialect"]](function, _arguments(request), request)


def kept(text: kernel_text.KernelText) -> str:
    """What was read and traced, each statement on its own lines, without what shares a line with it.

    Compilers that parse want a file.
    """
    lines = _LINE_END.split(text.source)
    found = [""] * len(lines)
    for statement in text.statements:
        first, pieces = _pieces(statement, lines)
        for number, piece in enumerate(pieces, first):
            found[number] = f"{found[number]}; {piece}" if found[number] else piece
    return "\n".join(found) + "\n"


def _pieces(statement: ast.stmt, lines: list[str]) -> tuple[int, list[str]]:
    """The index of a statement's first line, and its text line by line; what it was read from may hold more."""
    if isinstance(statement, ast.Import):
        return statement.lineno - 1, [ast.unparse(statement)]
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1
    last = statement.end_lineno or statement.lineno
    pieces = [line.encode() for line in lines[first:last]]
    pieces[-1] = pieces[-1][: statement.end_col_offset]
    pieces[0] = pieces[0][0 if decorators else statement.col_offset :]
    return first, [piece.decode() for piece in pieces]


def _imported() -> Any:
    specification = importlib.util.spec_from_file_location("kernel", Path(KERNEL).resolve())
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["kernel"] = module
    specification.loader.exec_module(module)
    return module


def _arguments(request: dict[str, Any]) -> list[Any]:
    """Arrays of ones where the kernel will get data, and the scalars themselves."""
    import numpy as np

    found: list[Any] = []
    for spec in request["inputs"]:
        if spec["shape"] is None:
            found.append(int(spec["value"]) if spec["dtype"] == "int" else float(spec["value"]))
        else:
            found.append(np.ones(spec["shape"], _dtype(spec["dtype"])))
    return found


def _dtype(name: str) -> Any:
    import numpy as np

    try:
        return np.dtype({"bool_": "bool", "tfloat32": "float32"}.get(name, name))
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def _current(function: Any, arguments: list[Any], request: dict[str, Any]) -> None:
    """NKI 0.3 and later: called with NumPy arrays, a kernel compiles and runs by itself.

    The compiled file stays in ``NKI_ARTIFACTS_DIR`` also where running it fails, as it does without a core.
    """
    kernel = function if request["lnc"] == 1 else function[request["lnc"]]
    kernel(*arguments)


def _beta2(function: Any, arguments: list[Any], request: dict[str, Any]) -> None:
    """NKI 0.1 and 0.2 (SDK 2.27, 2.28): only through torch-neuronx, which leaves the file in its inspection folder."""
    import numpy as np

    torch: Any = importlib.import_module("torch")
    model: Any = importlib.import_module("torch_xla.core.xla_model")
    device = model.xla_device()
    moved = [torch.from_numpy(a).to(device) if isinstance(a, np.ndarray) else a for a in arguments]
    returned = (function if request["lnc"] == 1 else function[request["lnc"]])(*moved)
    model.mark_step()
    for tensor in returned if isinstance(returned, (tuple, list)) else (returned,):  # pyright: ignore[reportUnknownVariableType]
        cast(Any, tensor).cpu()


def _beta1(function: Any, arguments: list[Any], request: dict[str, Any]) -> None:
    """``neuronxcc.nki``: the options are those under which published results of this dialect were made."""
    nki: Any = importlib.import_module("neuronxcc.nki")
    inner = getattr(function, "func", function)
    options = f"--disable-dge --logical-nc-config={request['lnc']}"
    nki.baremetal(
        inner, save_neff_name="kernel.neff", save_trace_name="kernel.ntff", additional_compile_opt=options
    )(*arguments)  # fmt: skip


DIALECTS: dict[str, Callable[[Any, list[Any], dict[str, Any]], None]] = {
    "current": _current,
    "beta2": _beta2,
    "beta1": _beta1,
}


if __name__ == "__main__":
    main()
