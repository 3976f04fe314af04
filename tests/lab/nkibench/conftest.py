"""A checkout in the form of AccelOpt's, with kernels of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

REFERENCE = """
import numpy as np

M = 300
N = 96

def get_inputs():
    x = np.random.normal(loc=0, scale=1.0, size=(M, N)).astype(np.float32)
    w = np.random.normal(loc=0, scale=1.0, size=(N, 64)).astype(np.float32)
    return [x, w, 0.5]

def forward(x, w, scale):
    return np.matmul(np.exp(-x) * np.float32(scale), w)

def transform_to_nki_inputs(inputs):
    return [np.reshape(inputs[0], (3, 100, 96)), inputs[1], inputs[2]]

def transform_nki_outputs(k_res, ref):
    if not isinstance(k_res, tuple):
        k_res = (k_res,)
    refs = ref if isinstance(ref, tuple) else (ref,)
    return [np.reshape(v, r.shape) for v, r in zip(k_res, refs)]
"""

KERNEL = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import neuronxcc.nki.isa as nisa


@nki.jit
def kernel(x, w, scale):
    out = nl.ndarray((3, 100, 64), dtype=np.float32, buffer=nl.shared_hbm)
    powers = nl.ndarray((3, nl.par_dim(100), 96), dtype=np.float32, buffer=nl.sbuf)
    weights = nl.load(w)
    p, f = nl.arange(100)[:, None], nl.arange(96)[None, :]
    for i in nl.affine_range(3):
        powers[i, p, f] = nisa.activation(op=nl.exp, data=nl.load(x[i, p, f]), scale=-1.0)
        powers[i, p, f] = nl.multiply(powers[i, p, f], scale)
        nl.store(out[i], nl.copy(nl.matmul(powers[i], weights)))
    return out
"""

CHECKOUT = {
    "powers": KERNEL,
    "wrong": KERNEL.replace("scale=-1.0", "scale=-1.001"),
    "illegal": KERNEL.replace("powers[i, p, f] = nl.multiply", "powers[0, p, f] = nl.multiply"),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """``AccelOpt/NKIBench`` in a workspace, with a task that passes, one that errs and one that is refused."""
    root = tmp_path / "workspace" / "AccelOpt" / "NKIBench"
    (root / "kernels").mkdir(parents=True)
    (root / "reference").mkdir()
    summary = {}
    for name, kernel in CHECKOUT.items():
        (root / "kernels" / f"{name}.py").write_text(kernel)
        (root / "reference" / f"{name}.py").write_text(REFERENCE)
        impls = [{"task": f"./reference/{name}.py", "kernel": f"./kernels/{name}.py"}]
        summary[name] = {"seed": "", "cases": {"1": {"values": {"M": 300, "N": 96}, "impls": impls}}}
    (root / "summary.json").write_text(json.dumps(summary))
    return root
