"""What a kernel says to a function of Beta 1 is read, or refused; nothing is taken and then ignored."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from typing import Any

import numpy as np
import pytest

from nki_anvil.sim.beta1 import modules
from nki_anvil.sim.beta1.unread import PLACING, UNREAD
from nki_anvil.sim.errors import NotSimulated, TraceError

FUNCTIONS = {
    f"{kind}.{name}": function
    for kind, named in (("nl", modules._language()), ("nisa", modules._isa()))  # pyright: ignore[reportPrivateUsage]
    for name, function in named.items()
    if isinstance(function, types.FunctionType)
}
HARMLESS = {
    "device_print": {"mask"},  # says what is printed
    "all_reduce": {"x", "op", "program_axes"},  # refused whatever it is told
    "builtin_custom_op": {"arguments"},
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_named_argument_is_read_or_refused(name: str) -> None:
    function = inspect.unwrap(FUNCTIONS[name])
    parsed = ast.parse(textwrap.dedent(inspect.getsource(function)))
    names = {node.id for one in parsed.body[0].body for node in ast.walk(one) if isinstance(node, ast.Name)}  # type: ignore[attr-defined]
    further = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_KEYWORD}
    unread = {*inspect.signature(function).parameters} - names - further - {*PLACING}
    assert unread <= {*UNREAD.get(function.__name__, ())} | HARMLESS.get(function.__name__, set())


def traced(beta1: Any, body: Any) -> Any:
    def kernel(x):
        out = beta1.nl.ndarray(x.shape, dtype=x.dtype, buffer=beta1.nl.shared_hbm)
        beta1.nl.store(out, body(x))
        return out

    return beta1.nki.jit(kernel)(np.ones((32, 32), np.float32))


@pytest.mark.parametrize(
    ("code", "body"),
    [
        pytest.param("NKI-ARGUMENT", lambda nl, x: nl.exp(nl.load(x), axis=1), id="an operation"),
        pytest.param(
            "NKI-ARGUMENT", lambda nl, x: nl.exp(nl.load(x), data=nl.load(x)), id="another function's operand"
        ),
        pytest.param("NKI-ARGUMENT", lambda nl, x: nl.load(x, transpose=True), id="a load"),
        pytest.param("", lambda nl, x: nl.load_transpose2d(x, mask=nl.arange(32)[:, None] < 3), id="a mask"),
        pytest.param("", lambda nl, x: nl.softmax(nl.load(x), 1, compute_dtype=nl.bfloat16), id="a format"),
    ],
)
def test_what_would_be_ignored_is_refused(beta1: Any, code: str, body: Any) -> None:
    with pytest.raises(TraceError) as refused:
        traced(beta1, lambda x: body(beta1.nl, x))
    assert code in refused.value.code


def test_where_something_is_done_may_be_said(beta1: Any) -> None:
    assert traced(beta1, lambda x: beta1.nl.exp(beta1.nl.load(x), name="exponential")).shape == (32, 32)


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (16, {"is_transpose": True}, "is_transpose, where no factor is square"),
        (16, {"tile_position": (0, 0), "tile_size": (64, 64)}, "tile_position and tile_size"),
        (16, {"tile_position": (), "tile_size": ()}, ""),
        (16, {"perf_mode": "double_row", "is_transpose": True}, "perf_mode beside"),
    ],
)
def test_what_a_matmul_would_leave_unread_is_refused(beta1: Any, columns: int, options: Any, said: str) -> None:
    nl, nisa = beta1.nl, beta1.nisa

    @beta1.nki.jit
    def kernel(x):
        out = nl.ndarray((columns, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        left, right = nl.load(x[:, 0:columns]), nl.load(x[:, 32:40])
        nl.store(out, nl.copy(nisa.nc_matmul(left, right, **options)))
        return out

    x = np.ones((32, 40), np.float32)
    if said:
        with pytest.raises(NotSimulated, match=said):
            kernel(x)
    else:
        kernel(x)


@pytest.mark.parametrize("function", ["softmax", "rms_norm"])
def test_what_would_compute_in_few_bits_inside_is_refused_and_float32_is_not(beta1: Any, function: str) -> None:
    nl = beta1.nl

    def result(x: Any, dtype: Any) -> Any:
        tile = nl.load(x)
        return (
            nl.softmax(tile, 1, dtype=dtype) if function == "softmax" else nl.rms_norm(tile, tile, 1, 32, dtype=dtype)
        )

    assert traced(beta1, lambda x: result(x, np.float32)).shape == (32, 32)
    with pytest.raises(NotSimulated):
        traced(beta1, lambda x: result(x, nl.bfloat16))


@pytest.mark.parametrize("function", ["where", "transpose", "copy"])
def test_numpy_names_formats_as_well(beta1: Any, function: str) -> None:
    nl = beta1.nl

    def result(x: Any) -> Any:
        tile = nl.load(x)
        operands = (tile, tile, 0.0) if function == "where" else (tile,)
        return nl.copy(getattr(nl, function)(*operands, dtype=np.int32), dtype=np.float32)

    assert (traced(beta1, result) == 1).all()
