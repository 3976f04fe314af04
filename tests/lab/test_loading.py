"""Problems are read from folders and bare modules, and every mistake in them is one clear sentence."""

import _ctypes
import contextlib
import importlib
import os
import py_compile
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy_backend import KERNEL, NumpyBackend

from nki_anvil.backends.backend import silent
from nki_anvil.backends.errors import AnvilError, ArgumentsInvalid, PathUnreadable, ProblemInvalid
from nki_anvil.lab import standard
from nki_anvil.lab.cases import Pool
from nki_anvil.lab.fingerprint import fingerprint
from nki_anvil.lab.loading import load
from nki_anvil.lab.problem import sources
from nki_anvil.lab.reference import Reference
from nki_anvil.lab.specification import Specification
from nki_anvil.lab.verification import verify

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("few_cases")]
SEEDS = Path(__file__).parents[2] / "seeds" / "problems"

HELPED = """
import numpy as np
from helper import halved

def get_inputs():
    return [np.random.normal(size=(8, 8)).astype(np.float32)]

def forward(x):
    return halved(x)
"""

BARE = """
import numpy as np
M = 64
N = 96

def get_inputs():
    x = np.random.normal(size=(M, N)).astype(np.float32)
    v = np.abs(np.random.normal(size=(M, N))).astype(np.float32)
    k = np.random.randint(0, 5, size=(M,)).astype(np.int32)
    return [x, v, 1e-5, k]

def forward(x, v, eps, k):
    return x / (np.sqrt(v) + np.float32(eps)) * k[:, None]
"""

RESHAPED = (
    BARE
    + """
def transform_to_nki_inputs(inputs):
    return [inputs[0].reshape(2, 32, N), inputs[1].reshape(2, 32, N), inputs[2], inputs[3]]

def transform_nki_outputs(k_res, ref):
    return [np.reshape(k_res, ref.shape)]
"""
)

OTHER = (
    BARE
    + """
def transform_to_nki_inputs(inputs):
    return [np.stack([inputs[0], inputs[1]]), inputs[2], inputs[3]]
"""
)


def written(folder: Path, source: str, toml: str | None = None) -> Path:
    (folder / "reference.py").write_text(source)
    if toml is None:
        return folder / "reference.py"
    (folder / "problem.toml").write_text(toml)
    return folder


async def test_a_folder_declares_shapes_for_every_shape_set() -> None:
    found = await load(SEEDS / "matmul_add_rmsnorm")
    assert found.name == "matmul_add_rmsnorm"
    assert [spec.name for spec in found.shape_sets["default"].inputs] == ["x", "w", "eps", "z", "g"]
    assert found.shape_sets["nkibench"].inputs[0].shape == (4096, 2048)
    assert found.shape_sets["default"].inputs[2].value == 1e-5
    assert found.work["nkibench"].matmul_flops == 2 * 4096 * 2048 * 2048


async def test_a_bare_module_is_inferred_from_its_draws(tmp_path: Path) -> None:
    found = await load(written(tmp_path, BARE))
    x, v, eps, k = found.shape_sets["default"].inputs
    assert (x.shape, x.domain, x.dtype) == ((64, 96), "real", "float32")
    assert v.domain == "nonnegative"
    assert (eps.shape, eps.dtype, eps.value) == (None, "float", 1e-5)
    assert (k.domain, k.low, k.high, k.dtype) == ("integer", 0, 4, "int32")
    assert found.dims["default"] == {"M": 64, "N": 96}
    assert found.inferred
    assert found.own_draws == "reference"
    assert found.tolerance == 2e-5
    assert found.work["default"].bytes == 4 * (3 * 64 * 96 + 64)


OUTPUTS = "\n\ndef transform_nki_outputs(k_res, ref):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "reshapes"),
    [
        (None, False),
        ("return [np.reshape(k_res, ref.shape)]", True),
        ("return np.reshape(k_res, ref.shape)", True),
        ("return k_res", False),
        ("return [np.asarray(k_res)[:, :]]", False),
        ("return list(k_res) if isinstance(k_res, tuple) else [k_res]", False),
    ],
)
async def test_outputs_may_have_other_shapes_where_the_reference_reshapes_them(
    tmp_path: Path, body: str | None, reshapes: bool
) -> None:
    found = await load(written(tmp_path, BARE + (OUTPUTS.format(body=body) if body else "")))
    assert found.reshapes is reshapes


@pytest.mark.parametrize(
    "body",
    [
        "return [np.asarray(k_res).T]",
        "return 2 * k_res",
        "return k_res.reshape(ref.shape) if k_res.ndim < 3 else k_res.transpose(1, 0, 2).reshape(ref.shape)",
        "return k_res[:, ::-1]",
        "raise ValueError('no')",
        "return k_res[None]",
        "return np.reshape(k_res.transpose(1, 0, 2) if k_res.ndim == 3 else k_res, ref.shape)",
        "return np.hstack(k_res).reshape(ref.shape)",
        "return np.abs(k_res)",
        "return np.rint(k_res)",
    ],
)
async def test_what_moves_or_changes_a_kernels_outputs_afterwards_is_refused(tmp_path: Path, body: str) -> None:
    with pytest.raises(ProblemInvalid, match="transform_nki_outputs"):
        await load(written(tmp_path, BARE + OUTPUTS.format(body=body)))


async def test_inputs_that_a_transform_casts_are_refused(tmp_path: Path) -> None:
    casting = (
        BARE + "\n\ndef transform_to_nki_inputs(inputs):\n    return [*inputs[:3], inputs[3].astype(np.float32)]\n"
    )
    with pytest.raises(ProblemInvalid, match="casts inputs"):
        await load(written(tmp_path, casting))


async def test_the_version_follows_source_and_tolerance(tmp_path: Path) -> None:
    one = await load(written(tmp_path, BARE))
    tight = await load(written(tmp_path, BARE), tolerance=1e-6)
    other = await load(written(tmp_path, BARE + "\n# a note\n"))
    assert len({one.version, tight.version, other.version}) == 3


async def test_a_tolerance_can_only_be_made_tighter(tmp_path: Path) -> None:
    with pytest.raises(ArgumentsInvalid, match="not above zero and up to"):
        await load(written(tmp_path, BARE), tolerance=1e-3)


NARROW = """
import ml_dtypes
import numpy as np

def get_inputs():
    return [np.random.standard_normal((64, 96)).astype(np.float32)]

def forward(x):
    return (x * 2).astype(ml_dtypes.bfloat16)
"""


async def test_an_output_in_a_narrow_format_gets_the_tolerance_that_its_format_needs(tmp_path: Path) -> None:
    found = await load(written(tmp_path, NARROW))
    assert (found.precision, found.outputs["default"][0].dtype, found.tolerance) == ("float32", "bfloat16", 1e-2)
    assert not found.warnings
    tight = await load(written(tmp_path, NARROW), tolerance=1e-4)
    assert tight.warnings == (
        "Output 0 is kept in bfloat16, which is off by 0.002 by itself: a tolerance of 0.0001 refuses every kernel.",
    )


@pytest.mark.parametrize(("source", "count"), [(BARE, 4), (RESHAPED, 4), (OTHER, 3)])
async def test_a_kernel_gets_the_transformed_inputs(tmp_path: Path, source: str, count: int) -> None:
    found = await load(written(tmp_path, source))

    def kernel(*arguments: np.ndarray) -> np.ndarray:
        assert len(arguments) == count
        x, v = arguments[0] if count == 3 else arguments[:2]
        eps, k = arguments[-2:]
        y = x.reshape(64, 96) / (np.sqrt(v.reshape(64, 96)) + np.float32(eps)) * k[:, None].astype(np.float32)
        return y.reshape(x.shape) if x.ndim == 3 else y

    pool, random = Pool(found, tmp_path / "data"), np.random.default_rng(3)
    verdict = (await verify(found, KERNEL, "0" * 64, backend=NumpyBackend(kernel), pool=pool, random=random)).verdict
    assert verdict.passed, verdict.gates


TURNED = """
import numpy as np

def get_inputs():
    return [np.random.standard_normal(shape).astype(np.float32) for shape in ((64, 32), (32, 64))]

def forward(x, b):
    return x + 2 * b.T

def transform_to_nki_inputs(inputs):
    return [inputs[0], np.ascontiguousarray(inputs[1].T)]
"""


@pytest.mark.parametrize("seed", [20, 21, 22])
async def test_cases_that_have_never_been_are_transformed_where_inputs_are_declared(tmp_path: Path, seed: int) -> None:
    toml = "[inputs.x]\nshape = [64, 32]\n[inputs.b]\nshape = [32, 64]\n"
    found = await load(written(tmp_path, TURNED, toml))
    assert (found.own_draws, found.transforms) == ("inputs", True)
    backend = NumpyBackend(lambda x, turned: x + np.float32(2) * turned)
    pool, random = Pool(found, tmp_path / "data"), np.random.default_rng(seed)
    await pool.prepare(random)
    verdict = (await verify(found, KERNEL, "0" * 64, backend=backend, pool=pool, random=random)).verdict
    assert verdict.passed, verdict.gates
    assert all(case.uploaded for case in backend.jobs[0].cases)


GOOD = "import numpy as np\ndef get_inputs():\n    return [np.random.normal(size=(8, 32)).astype(np.float32)]\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def forward(x: return", "does not parse"),
        ("import numpy as np\n", "no function `get_inputs`"),
        (GOOD, "no function `forward`"),
        (GOOD + "def forward(x):\n    raise ValueError('no')\n", "raised ValueError: no at line 5"),
        (GOOD + "def forward(x):\n    exit(0)\n", "called exit"),
        (GOOD + "import os\ndef forward(x):\n    os._exit(0)\n", "ended its process"),
        (GOOD + "def forward(x):\n    return {'y': x}\n", "returned a dict"),
        (GOOD + "def forward(x):\n    return None\n", "returned None"),
        (GOOD + "def forward():\n    return 1\n", "takes only 0"),
        ("def get_inputs():\n    return ['a']\ndef forward(x):\n    return x\n", "argument 0 is a str"),
        ("def get_inputs():\n    return 3\ndef forward(x):\n    return x\n", "must return a list"),
    ],
)
async def test_a_reference_that_cannot_be_used_says_why(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(ProblemInvalid, match=said):
        await load(written(tmp_path, source))


async def test_a_reference_that_never_ends_is_stopped(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + "def forward(x):\n    while True:\n        pass\n")
    with pytest.raises(ProblemInvalid, match="not done after"):
        async with Reference(path, seconds=0.5).ask("inspect", dims={}, seeds=[1], forward=True):
            pass


async def test_a_reference_that_seeds_itself_is_judged_on_other_numbers(tmp_path: Path) -> None:
    source = GOOD.replace("np.random.normal", "np.random.default_rng(0).normal") + "def forward(x):\n    return x * 2\n"
    found = await load(written(tmp_path, source))
    assert found.own_draws == "inputs"
    assert any("same numbers" in warning for warning in found.warnings)
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1))


CHANGING = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(8, 32)).astype(np.float32), bool(np.random.random() < 0.5), 2.5]

def forward(x, causal, scale):
    return (np.tril(x) if causal else x) * scale
"""


async def test_a_number_that_every_draw_has_another_of_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ProblemInvalid, match=r"the number 'causal' as 0 and as 1; .* value = 0"):
        await load(written(tmp_path, CHANGING))
    for value in (0, 1):
        found = await load(written(tmp_path, CHANGING, f"[inputs.causal]\nvalue = {value}\n"))
        assert [spec.value for spec in found.shape_sets["default"].inputs[1:]] == [value, 2.5]
        pool = Pool(found, tmp_path / f"data {value}")
        drawn = await pool.draw(np.random.default_rng(1))
        own = next(one for one in drawn if one.case.family == "own")
        above = (await pool.yardstick(own.case)).outputs[0].r[0, 1:]
        assert bool(above.any()) is not bool(value)


async def test_draws_of_the_same_numbers_in_another_order_are_others(tmp_path: Path) -> None:
    source = GOOD.replace("np.random.normal(size=(8, 32))", "np.random.permutation(256).reshape(8, 32)")
    found = await load(written(tmp_path, source + "def forward(x):\n    return x * 2\n"))
    (whole,) = found.warnings
    assert found.own_draws == "reference"
    assert whole.startswith("In every draw x is whole, 0 to 255")


NAMES = """
import numpy as np

def get_inputs():
    return [np.random.randint(1000, 9000, (8, 32)).astype(np.int32)]

def forward(x):
    return (x % 7).astype(np.float32)
"""


async def test_integers_without_a_domain_are_those_that_get_inputs_draws(tmp_path: Path) -> None:
    toml = '[inputs.x]\nshape = [8, 32]\ndtype = "int32"\nlow = 0'
    found = await load(written(tmp_path, NAMES, toml))
    drawn = found.shape_sets["default"].inputs[0]
    assert (found.own_draws, drawn.domain, drawn.low) == ("reference", "integer", 0)
    assert 8000 < (drawn.high or 0) < 9000
    with pytest.raises(ProblemInvalid, match="x is int32, but get_inputs draws numbers that are not whole"):
        await load(written(tmp_path, GOOD + "def forward(x):\n    return x\n", toml))


@pytest.mark.parametrize(("dtype", "low", "high", "ends"), [
    ("uint16", 40, 65000, (0, 65535)), ("int8", -127, 127, (-128, 127)), ("uint8", 0, 100, (0, 100)),
    ("int32", 0, 2**31 - 2, (0, 2**31 - 2)),
])  # fmt: skip
async def test_words_and_bytes_that_are_nearly_all_drawn_are_any(
    tmp_path: Path, dtype: str, low: int, high: int, ends: tuple[int, int]
) -> None:
    drawing = f"np.linspace({low}, {high}, 256).reshape(8, 32)[::-1, ::-1].astype(np.{dtype})"
    source = f"import numpy as np\ndef get_inputs():\n    return [{drawing}]\ndef forward(x):\n    return x + 1.0\n"
    drawn = (await load(written(tmp_path, source))).shape_sets["default"].inputs[0]
    assert (drawn.low, drawn.high) == ends


LEAST = """
import numpy as np

def get_inputs():
    return [np.random.uniform(1, 2, (8, 32)).astype(np.float32)]

def forward(x):
    return np.minimum.accumulate(x, axis=1)
"""
WITHIN = """
[inputs.x]
shape = [8, 32]
dtype = "float32"
domain = "real"
low = 0
high = 1000000
"""


async def test_what_lies_between_declared_bounds_is_drawn_about_where_get_inputs_draws_it(tmp_path: Path) -> None:
    found = await load(written(tmp_path, LEAST, WITHIN))
    (x,) = found.shape_sets["default"].inputs
    assert (x.mean, x.sigma) == (pytest.approx(1.5, abs=0.1), pytest.approx(0.29, abs=0.03))


async def test_a_problem_that_is_constant_as_it_is_declared_says_so(tmp_path: Path) -> None:
    source = LEAST.replace("np.minimum.accumulate(x, axis=1)", "(x > 100).astype(np.float32)")
    found = await load(written(tmp_path, source, WITHIN))
    with pytest.raises(ProblemInvalid, match=r"same for every input") as refused:
        await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1))
    assert "not by get_inputs" in refused.value.remedy


async def test_what_a_reference_prints_does_no_harm(tmp_path: Path) -> None:
    source = GOOD + "def forward(x):\n    print('{\"fault\": 1}' * 100000)\n    return x * 2\n"
    assert (await load(written(tmp_path, source))).outputs["default"][0].shape == (8, 32)


@pytest.mark.parametrize(
    ("forward", "said"),
    [
        ("np.ones((8, 32), np.float32)", "same for every input"),
        ("np.exp(x * 1e5)", "overflows"),
        ("np.exp(np.abs(x) + 88)", "not finite in float32"),
        ("x * (np.random.random(x.shape) > 0.5)", "something else each time"),
        ("x[:, np.argsort(np.arange(32) % 4)]", "an order that its sort leaves open"),
        ("np.take_along_axis(x, np.argpartition(x, 4)[:, :4], 1)", "an order that its sort leaves open"),
        ("np.take_along_axis(x, np.argpartition(x, 4)[:, 4:5], 1)", None),
        ("x[:, np.argsort(np.arange(32) % 4, kind='stable')]", None),
    ],
)
async def test_a_problem_that_cannot_be_judged_is_refused(tmp_path: Path, forward: str, said: str | None) -> None:
    found = await load(written(tmp_path, GOOD + f"def forward(x):\n    return {forward}\n"))
    pool = Pool(found, tmp_path / "data")
    if said is None:
        await pool.prepare(np.random.default_rng(1))
    else:
        with pytest.raises(ProblemInvalid, match=said):
            await pool.prepare(np.random.default_rng(1))


async def test_a_sort_that_leaves_equals_open_is_a_warning_where_own_inputs_have_none(tmp_path: Path) -> None:
    for kind, warned in (("quicksort", True), ("stable", False)):
        source = GOOD + f"def forward(x):\n    return np.argsort(x, axis=1, kind='{kind}').astype(np.int32)\n"
        (folder := tmp_path / kind).mkdir()
        found = await load(written(folder, source))
        warnings = await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1))
        assert any("rows in which equals decide are not judged" in one for one in warnings) is warned


@pytest.mark.parametrize(
    ("declared", "returned", "refused"), [(True, "y", True), (True, "y, x", False), (False, "y", False)]
)
async def test_an_update_in_place_that_no_output_tells_of_is_refused(
    tmp_path: Path, declared: bool, returned: str, refused: bool
) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "reference.py").write_text(GOOD + f"def forward(x):\n    y = x * 2\n    x += 1\n    return {returned}\n")
    mutable = str(declared).lower()
    (folder / "problem.toml").write_text(f"[inputs.x]\nshape = [8, 32]\nmutable = {mutable}\n")
    if refused:
        with pytest.raises(ProblemInvalid, match="'x', which is mutable"):
            await load(folder)
    else:
        assert (await load(folder)).outputs


async def test_the_output_that_a_mutable_input_becomes_is_part_of_the_problem(tmp_path: Path) -> None:
    forward = "def forward(x):\n    y = x * 2\n    x += 1\n    return y, x\n"
    (tmp_path / "reference.py").write_text(GOOD + forward)
    (tmp_path / "problem.toml").write_text("[inputs.x]\nshape = [8, 32]\nmutable = true\n")
    assert (await load(tmp_path)).in_place == {"x": 1}
    (tmp_path / "reference.py").write_text(GOOD + forward.replace("x += 1", "x = x + 1"))
    assert (await load(tmp_path)).in_place == {}


HALVING = """
import numpy as np

def get_inputs():
    return [np.full((8, 4), 2, np.float32), np.random.standard_normal((4, 8)).astype(np.float32)]

def forward(x, g):
    y = x * g.T
    x[g.T > 100] *= 0.5
    return {returned}

def transform_to_nki_inputs(inputs):
    x, g = inputs
    return [{given}]
"""
MUTABLE = "[inputs.x]\nshape = [8, 4]\nmutable = true\n"


@pytest.mark.parametrize(("returned", "refused"), [("y, x", False), ("y", True)])
async def test_an_update_that_no_own_draw_reaches_is_one(tmp_path: Path, returned: str, refused: bool) -> None:
    path = written(tmp_path, HALVING.format(returned=returned, given="x, g"), MUTABLE)
    if refused:
        with pytest.raises(ProblemInvalid, match="'x', which is mutable, in place and does not return it"):
            await load(path)
    else:
        assert (await load(path)).in_place == {"x": 1}


async def test_a_mutable_argument_is_the_kernels_input_that_a_transform_hands_it_on_as(tmp_path: Path) -> None:
    found = await load(written(tmp_path, HALVING.format(returned="y, x", given="g.T.copy(), x"), MUTABLE))
    assert found.in_place == {"input1": 1}
    assert [spec.mutable for spec in found.shape_sets["default"].inputs] == [False, True]


async def test_a_transform_that_changes_a_mutable_argument_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HALVING.format(returned="y, x", given="np.clip(x, -240, 240), g"), MUTABLE)
    with pytest.raises(ProblemInvalid, match="transform_to_nki_inputs changes 'x', which is mutable") as caught:
        await load(path)
    assert "Let it hand on x as it is" in str(caught.value)


async def test_a_transform_that_own_draws_do_not_show_is_applied(tmp_path: Path) -> None:
    clip = "\ndef transform_to_nki_inputs(inputs):\n    return [np.clip(inputs[0], -240, 240)]\n"
    clipping = GOOD + "def forward(x):\n    return np.clip(x, -240, 240) * 2\n" + clip
    found = await load(written(tmp_path, clipping))
    assert found.transforms
    pool = Pool(found, tmp_path / "data")
    backend = NumpyBackend(lambda x: x * np.float32(2))
    random = np.random.default_rng(3)
    verdict = (await verify(found, KERNEL, "0" * 64, backend=backend, pool=pool, random=random)).verdict
    assert verdict.passed, verdict.gates


async def test_an_input_without_influence_is_a_warning(tmp_path: Path) -> None:
    source = GOOD.replace("]\n", ", np.random.normal(size=(8,)).astype(np.float32)]\n")
    found = await load(written(tmp_path, source + "def forward(x, unused):\n    return x * 2\n"))
    warnings = await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1))
    assert any("unused" in warning for warning in warnings)


async def test_an_integer_counts_where_a_number_that_the_problem_names_does_though_chance_hardly_draws_it(
    tmp_path: Path,
) -> None:
    tokens = "np.r_[0, 50264, np.random.randint(2, 50264, 6)].reshape(8, 1)"
    source = GOOD.replace("]\n", f", {tokens}.astype(np.int32)]\n")
    found = await load(written(tmp_path, source + "def forward(x, tokens):\n    return np.where(tokens != 1, x, 0)\n"))
    warnings = await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1))
    assert not any("no visible influence" in warning for warning in warnings)


async def test_two_draws_may_say_the_same_where_others_do_not(tmp_path: Path) -> None:
    """As two graphs may that are mostly of one piece; of eight draws some are of more."""
    found = await load(written(tmp_path, GOOD + "def forward(x):\n    return x * 0 + (x[0, 0] > 0.5)\n"))
    for seed in range(3):
        await Pool(found, tmp_path / f"data{seed}").prepare(np.random.default_rng(seed))


async def test_what_is_odd_about_a_problem_is_in_its_specification_when_it_is_opened(tmp_path: Path) -> None:
    source = GOOD.replace("]\n", ", np.random.normal(size=(8,)).astype(np.float32)]\n")
    opened = await standard.load(
        written(tmp_path, source + "def forward(x, unused):\n    return x * 2\n"),
        name=None, kernel=None, tolerance=None, chip=None,
        data=tmp_path / "data", aside=tmp_path / "aside", random=np.random.default_rng(1), report=silent,
    )  # fmt: skip
    assert any("unused" in warning for warning in opened.warnings)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("name = ", "not TOML"),
        ("colour = 1", "colour is not a field"),
        ("tolerance = 2.0", "tolerance"),
        ('verify = ["big"]', "'big'"),
        ("[dims]\nM = 8\n[shapes.big]\nK = 1", "'K'"),
        ("[dims]\nM = 8\n[shapes.'../big']\nM = 1", "shapes.../big"),
        ("[dims]\nM = 8\n[shapes.'/tmp/big']\nM = 1", "shapes./tmp/big"),
        ('[inputs.x]\ndomain = "real"', "needs a shape"),
        ("inputs = 3", "inputs"),
        ("inputs.x = 3", "inputs.x"),
        ('[inputs.x]\nshape = ["Q", 32]', "'Q' is no dimension"),
        ('[inputs.x]\nshape = [8, 32]\ndomain = "integer [0, Q - 1]"', "inputs.x.high: 'Q' is no dimension"),
        ("[inputs.nobody]\nshape = [8]", "forward takes x"),
        ('[inputs.x]\nshape = [8, 32]\ndtype = "float64"', "no Trainium dtype"),
        ('[work]\nbytes = "4*Z"', "work.bytes"),
        ('[work]\nbytes = "__import__(1)"', "not arithmetic"),
        ('chip = "gpu"', "no chip 'gpu'"),
        ('nki_version = "0.9"', "nki_version"),
        ("[e2e]\nresult = 'r.json'", "e2e.command"),
        ("[e2e]\ncommand = 'true'\n[inputs.x]\nshape = [8, 32]", "not both"),
        ("[e2e]\ncommand = 'true'\nresult = '../r.json'", "no path inside"),
        ("[e2e]\ncommand = 'true'\nfiles = ['nothing*']", "nothing matches"),
        ("[e2e]\ncommand = 'true'\nfiles = ['../*']", "leads out"),
        ("[e2e]\ncommand = 'true'\n[e2e.patterns]\nlatency_ms = 'Latency'", "one group"),
        ("[e2e]\ncommand = 'true'\n[e2e.patterns]\nlatency_ms = '('", "no regular expression"),
        ("[e2e]\ncommand = 'true'\n[e2e.patterns]\npower = '(.)'", "e2e.patterns"),
        ("[e2e]\ncommand = 'true'\ncores = 0", "e2e.cores"),
    ],
)
async def test_a_mistake_in_problem_toml_is_named(tmp_path: Path, toml: str, said: str) -> None:
    with pytest.raises(AnvilError, match=said):
        await load(written(tmp_path, GOOD + "def forward(x):\n    return x\n", toml))


@pytest.mark.parametrize("range_", ['domain = "integer [1, S]"', 'domain = "integer"\nlow = 1\nhigh = "S"'])
async def test_lengths_go_as_far_as_each_shape_sets(tmp_path: Path, range_: str) -> None:
    source = (
        "import numpy as np\nS = 32\n"
        "def get_inputs():\n    return [np.random.normal(size=(4, S)).astype(np.float32), np.full(4, S, np.int32)]\n"
        "def forward(x, lengths):\n    return np.where(np.arange(x.shape[1]) < lengths[:, None], x, 0)\n"
    )
    toml = 'timed = "long"\n[dims]\nS = 32\n[shapes.long]\nS = 640\n[inputs.x]\nshape = [4, "S"]\n'
    found = await load(written(tmp_path, source, toml + f'[inputs.lengths]\nshape = [4]\ndtype = "int32"\n{range_}\n'))
    ranges = {name: shapes.inputs[1] for name, shapes in found.shape_sets.items()}
    assert {name: (spec.low, spec.high) for name, spec in ranges.items()} == {"default": (1, 32), "long": (1, 640)}


async def test_dimensions_reach_what_is_derived_from_them(tmp_path: Path) -> None:
    source = (
        "import numpy as np\nM = 8\nN = M * 4\n"
        "def get_inputs():\n    return [np.ones((M, N), np.float32) * np.random.rand()]\n"
        "def forward(x):\n    return x * N\n"
    )
    toml = '[dims]\nM = 16\n[inputs.x]\nshape = ["M", "4*M"]\n'
    found = await load(written(tmp_path, source, toml))
    assert found.outputs["default"][0].shape == (16, 64)


async def test_a_path_that_is_no_problem_is_named(tmp_path: Path) -> None:
    with pytest.raises(PathUnreadable, match="neither problem"):
        await load(tmp_path)
    with pytest.raises(PathUnreadable, match="not there"):
        await load(tmp_path / "missing.py")


async def test_a_reference_that_is_another_than_the_one_opened_measures_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + "def forward(x):\n    return x * 2\n")
    found, honest = await load(path), path.read_text()
    pool = Pool(found, tmp_path / "data")
    path.write_text(honest.replace("x * 2", "x * 3"))
    with pytest.raises(ProblemInvalid, match="changed while it was in use"):
        await pool.prepare(np.random.default_rng(1))
    path.write_text(honest)
    drawn = await pool.draw(np.random.default_rng(1), full=False)
    path.write_text(honest.replace("x * 2", "x * 3"))
    with pytest.raises(ProblemInvalid, match="changed while it was in use"):
        await pool.add(await pool.fresh(np.random.default_rng(2), drawn))


async def test_what_a_reference_imports_from_its_folder_is_part_of_the_problem(tmp_path: Path) -> None:
    helper, path = tmp_path / "helper.py", written(tmp_path, HELPED)
    helper.write_text("def halved(x):\n    return x / 2\n")
    found = await load(path)
    assert str(helper) in sources(path, found)
    pool = Pool(found, tmp_path / "data")
    drawn = await pool.draw(np.random.default_rng(1), full=False)
    helper.write_text("def halved(x):\n    return x / 3\n")
    with pytest.raises(ProblemInvalid, match=r"helper\.py, which the reference reads, changed"):
        await pool.add(await pool.fresh(np.random.default_rng(2), drawn))
    assert (await load(path)).version != found.version, "cases of the one are none of the other"


async def test_a_reference_that_changes_while_it_is_read_opens_nothing(tmp_path: Path) -> None:
    changing = "import pathlib\npathlib.Path(__file__).open('a').write('#')\n"
    found = await load(written(tmp_path, changing + GOOD + "def forward(x):\n    return x * 2\n"))
    with pytest.raises(ProblemInvalid, match="changed while it was in use"):
        await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1))


READING = """
import pathlib
import numpy as np
WEIGHTS = np.load(pathlib.Path(__file__).parent / {name!r})

def get_inputs():
    return [np.random.normal(size=(8, 8)).astype(np.float32)]

def forward(x):
    return x * WEIGHTS
"""


@pytest.mark.parametrize("name", ["weights.npy", "../weights.npy"])
async def test_a_file_that_a_reference_reads_is_part_of_the_problem(tmp_path: Path, name: str) -> None:
    """Two problems of one text with other weights would have shared their expected outputs."""
    folder = tmp_path / "problem"
    folder.mkdir()
    weights, path = (folder / name).resolve(), written(folder, READING.format(name=name))
    np.save(weights, np.float32(2))
    found = await load(path)
    assert str(weights) in sources(path, found)
    pool = Pool(found, tmp_path / "data")
    await pool.prepare(np.random.default_rng(1), silent)
    np.save(weights, np.float32(3))
    other = await load(path)
    assert other.version != found.version
    with pytest.raises(ProblemInvalid, match=r"weights\.npy, which the reference reads, changed"):
        await Pool(found, tmp_path / "more").prepare(np.random.default_rng(1), silent)


HELD = {
    "a map of a file, as NumPy opens one": "HALF = np.memmap(F, dtype=np.float32, shape=(1,))",
    "a map of an array": "HALF = np.load(F, mmap_mode='r+')",
    "a file that could be written": "HALF = np.frombuffer(F.open('r+b').read()[-4:], np.float32)",
    "a file that is locked for writing": "HALF = np.frombuffer(F.read_bytes()[-4:], np.float32)\nF.open('ab').close()",
    "a database": "import sqlite3\n[HALF] = sqlite3.connect(F).execute('select half from t').fetchone()",
}
"""Ways of reading a file through a handle that could write."""


@pytest.mark.parametrize("what", HELD)
async def test_a_file_that_a_reference_could_write_and_only_reads_is_part_of_the_problem(
    tmp_path: Path, what: str
) -> None:
    held = tmp_path / "half"
    if "sqlite3" in HELD[what]:
        with contextlib.closing(sqlite3.connect(held)) as database, database:
            database.execute("create table t (half)")
            database.execute("insert into t values (0.5)")
    elif "np.load" in HELD[what]:
        with held.open("wb") as stream:
            np.save(stream, np.full(1, 0.5, np.float32))
    else:
        np.full(1, 0.5, np.float32).tofile(held)
    path = written(tmp_path, with_half(f"import pathlib\nF = pathlib.Path(__file__).with_name('half')\n{HELD[what]}\n"))
    found = await load(path)
    assert list(found.reference_beside) == [str(held)]
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


def with_half(source: str) -> str:
    return (
        "import numpy as np\n"
        + source
        + HELPED.replace("from helper import halved\n", "").replace("halved(x)", "x * np.float32(HALF)")
    )


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system has no shared memory in its file system")
async def test_data_in_shared_memory_are_part_of_the_problem(tmp_path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as shared:
        shared.write(np.float32(0.5).tobytes())
        shared.flush()
        (tmp_path / "half").symlink_to(shared.name)
        path = written(tmp_path, with_half(f"HALF = np.fromfile({str(tmp_path / 'half')!r}, np.float32)\n"))
        assert list((await load(path)).reference_beside) == [str(tmp_path / "half")]


@pytest.mark.parametrize("exchanged", [True, False])
async def test_a_link_that_leads_elsewhere_later_is_a_file_that_changed(tmp_path: Path, exchanged: bool) -> None:
    for number, name in enumerate(("one", "two", "three"), 1):
        np.full(1, number, np.float32).tofile(tmp_path / name)
    links = [tmp_path / "scale", tmp_path / "folder" / "shift"]
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    for link, name in zip(links, ("one", "two"), strict=True):
        link.symlink_to(tmp_path / name)
    read = "F = pathlib.Path(__file__).parent\nHALF = np.fromfile(F / 'scale', np.float32)\n"
    read += "HALF = HALF + np.fromfile(F / 'folder' / '..' / 'folder' / 'shift', np.float32)\n"
    path = written(tmp_path, with_half(f"import pathlib\n{read}"))
    found = await load(path)
    assert sorted(found.reference_beside) == sorted(map(str, links))
    for link, name in zip(links, ("two", "one") if exchanged else ("one", "three"), strict=True):
        link.unlink()
        link.symlink_to(tmp_path / name)
    changed = [path for path, known in found.reference_beside.items() if fingerprint(Path(path)) != known]
    assert changed == sorted(map(str, links if exchanged else links[1:]))
    with pytest.raises(ProblemInvalid, match="not the one that the problem rests on"):
        await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


async def test_a_declared_reference_that_is_a_link_is_part_of_the_problem_as_such(tmp_path: Path) -> None:
    module = written(tmp_path, HELPED.replace("from helper import halved\n", "halved = np.tanh\n"))
    folder = tmp_path / "problem"
    folder.mkdir()
    (folder / "problem.toml").write_text('reference = "current.py"\nkernel = "kernel.py"\n')
    (folder / "current.py").symlink_to(module)
    found = await load(folder)
    assert (found.reference, list(found.reference_beside)) == (str(module), [str(folder / "current.py")])
    assert str(folder / "current.py") in sources(folder, found)
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


async def test_packages_of_no_environment_that_runs_are_part_of_the_problem(tmp_path: Path) -> None:
    for name in ("vendor/site-packages", ".venv/lib/python3.11/site-packages"):
        helper = tmp_path / name / "helper.py"
        helper.parent.mkdir(parents=True)
        helper.write_text("def halved(x):\n    return x / 2\n")
        found = await load(written(tmp_path, f"import sys\nsys.path.insert(0, {str(helper.parent)!r})\n{HELPED}"))
        assert present(found) == [str(helper)]


async def test_a_library_that_a_reference_loads_is_part_of_the_problem(tmp_path: Path) -> None:
    library = shutil.copy(_ctypes.__file__, tmp_path / "library.so")
    found = await load(
        written(tmp_path, f"import ctypes\nctypes.CDLL({str(library)!r})\n{GOOD}def forward(x):\n    return x * 2\n")
    )
    assert list(found.reference_beside) == [str(library)]
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


async def test_a_compiled_module_of_a_reference_is_part_of_the_problem(tmp_path: Path) -> None:
    library = shutil.copy(importlib.import_module("_queue").__file__ or "", tmp_path / "ours.so")
    loading = LOADED.replace('"beside"', '"_queue"') + "loaded('ours.so').Empty\n"
    found = await load(written(tmp_path, f"{loading}{GOOD}def forward(x):\n    return x * 2\n"))
    assert list(found.reference_beside) == [str(library)]
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


EXCHANGED = """
import os, pathlib
import numpy as np

BACK = pathlib.Path(__file__).with_name("back")
if BACK.exists():
    os.replace(BACK, __file__)

def halved(x):
    return x[:4] / 3
"""


class Exchanging:
    """Somebody who exchanges the files of a reference while its process runs, and puts them back."""

    def __init__(self, folder: Path) -> None:
        self.honest = {folder / "helper.py": b"def halved(x):\n    return x / 2\n", folder / "one.npy": b""}
        np.save(folder / "one.npy", np.float32(1))
        self.honest[folder / "one.npy"] = (folder / "one.npy").read_bytes()
        self.put_back()
        self.path = written(folder, HELPED.replace("halved(x)", "halved(x) * ONE"))
        first = "import pathlib\nONE = np.load(pathlib.Path(__file__).with_name('one.npy'))\n"
        self.path.write_text(self.path.read_text().replace("\ndef get", f"{first}\ndef get", 1))

    def put_back(self) -> None:
        for path, content in self.honest.items():
            path.write_bytes(content)

    async def run(self, ask: Any, reference: Reference, folder: Path) -> int:
        helper, one = self.honest
        helper.with_name("back").write_bytes(self.honest[helper])
        helper.write_text(EXCHANGED)
        if reference.beside is not None:
            np.save(one, np.float32(3))
        status = await ask(reference, folder)
        self.put_back()
        return int(status)


async def test_what_is_exchanged_while_a_reference_runs_is_not_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    somebody, ask = Exchanging(tmp_path), Reference._run
    monkeypatch.setattr(Reference, "_run", lambda reference, folder: somebody.run(ask, reference, folder))
    found = await load(somebody.path)
    assert [output.shape for output in found.outputs["default"]] == [(8, 8)]
    reference = Pool(found, tmp_path / "data").reference
    async with reference.ask("benchmark", dims={}, seed=1, count=False) as (answer, folder):
        [argument] = answer["arguments"]
        given = np.load(folder / "input0.npy").view(np.float32).reshape(argument["shape"])
        np.testing.assert_array_equal(np.load(folder / "expected0.npy"), given / 2)


async def test_no_variable_says_where_a_reference_finds_its_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(_ctypes.__file__, tmp_path / "libours.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    path = written(tmp_path, f"import ctypes\nctypes.CDLL('libours.so')\n{GOOD}def forward(x):\n    return x * 2\n")
    with pytest.raises(ProblemInvalid, match=r"libours\.so"):
        await load(path)
    path.write_text(f"import os\nassert 'LD_LIBRARY_PATH' not in os.environ\n{GOOD}def forward(x):\n    return x * 2\n")
    assert (await load(path)).outputs


@pytest.mark.parametrize("how", ["from helper import halved", "halved = loaded('helper.py').halved"])
async def test_a_module_beside_a_reference_is_its_text_and_not_its_bytecode(tmp_path: Path, how: str) -> None:
    """Bytecode goes by the text's size and the second in which it was written."""
    helper = tmp_path / "helper.py"
    for factor in (3, 2):
        helper.write_text(f"def halved(x):\n    return x / {factor}\n")
        os.utime(helper, (1, 1))
        if factor == 3:
            py_compile.compile(str(helper), doraise=True)
    before = bytecode(tmp_path)
    path = written(tmp_path, LOADED + HELPED.replace("from helper import halved", how))
    found = await load(path)
    assert present(found) == [str(helper)]
    pool = Pool(found, tmp_path / "data")
    await pool.prepare(np.random.default_rng(1), silent)
    async with Reference(path).ask("benchmark", dims={}, seed=1, count=False) as (answer, folder):
        [argument] = answer["arguments"]
        given = np.load(folder / "input0.npy").view(np.float32).reshape(argument["shape"])
        np.testing.assert_array_equal(np.load(folder / "expected0.npy"), given / 2)
    assert bytecode(tmp_path) == before, "and none is left there"


def present(found: Specification) -> list[str]:
    return [path for path, digest in found.reference_beside.items() if digest]


def bytecode(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.pyc")}


LOADED = """
import importlib.util, pathlib

def loaded(name):
    spec = importlib.util.spec_from_file_location("beside", pathlib.Path(__file__).with_name(name))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


STRANGE = """
import pathlib
pathlib.Path(__file__).with_name("ran").write_text(__name__)
"""


@pytest.mark.parametrize("first", ["", "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n"])
async def test_what_numpy_imports_when_it_is_needed_is_never_a_file_beside_the_reference(
    tmp_path: Path, first: str
) -> None:
    """``threadpoolctl`` is nobody's here: NumPy asks for it, and goes on without it."""
    for name in ("secrets", "unittest", "pdb", "threadpoolctl", "pytest"):
        (tmp_path / f"{name}.py").write_text(STRANGE)
    (tmp_path / "helper.py").write_text(
        "import contextlib, io\nimport numpy as np\nimport numpy.testing\nimport pytest\nfrom pdb import Pdb\n"
        "np.random.default_rng()\nwith contextlib.redirect_stdout(io.StringIO()):\n    np.show_runtime()\n"
        "def halved(x):\n    return x / 2\n"
    )
    found = await load(written(tmp_path, first + HELPED))
    assert not (tmp_path / "ran").exists()
    assert present(found) == [str(tmp_path / "helper.py")]


async def test_a_module_beside_the_folder_is_part_of_the_problem(tmp_path: Path) -> None:
    folder, helper = tmp_path / "problem", tmp_path / "library" / "helper.py"
    folder.mkdir()
    helper.parent.mkdir()
    helper.write_text("def halved(x):\n    return x / 2\n")
    path = written(folder, f"import sys\nsys.path.insert(0, {str(helper.parent)!r})\n{HELPED}")
    assert str(helper) in sources(path, await load(path))


async def test_a_reference_that_reads_a_file_only_later_is_refused(tmp_path: Path) -> None:
    (tmp_path / "late.txt").write_text("1")
    path = written(
        tmp_path,
        HELPED.replace("from helper import halved\n", "import os, pathlib\n").replace(
            "    return halved(x)",
            "    told = pathlib.Path(__file__).with_name('late.txt')\n"
            "    return x * (float(told.read_text()) if abs(x).max() > 10 else 1)",
        ),
    )
    found = await load(path)
    assert found.reference_beside == {}
    with pytest.raises(ProblemInvalid, match=r"late\.txt, which it did not when the problem was opened"):
        await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


async def test_what_a_reference_writes_itself_and_what_is_installed_is_no_part_of_the_problem(tmp_path: Path) -> None:
    scratch = (
        "import json, pathlib, zoneinfo\nP = pathlib.Path(__file__).with_name('s')\nP.write_text('1')\nP.read_text()\n"
    )
    path = written(tmp_path, scratch + HELPED.replace("from helper import halved\n", "halved = np.tanh\n"))
    found = await load(path)
    assert found.reference_beside == {}
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)


LOOKING = {
    "opens it": "try:\n    HALF = float(F.read_text())\nexcept OSError:\n    HALF = 0.5\n",
    "asks whether it is there": "HALF = float(F.read_text()) if F.exists() else 0.5\n",
    "asks whether it may": "import os\nHALF = float(F.read_text()) if os.access(F, os.R_OK) else 0.5\n",
    "imports it": "try:\n    from scale import HALF\nexcept ImportError:\n    HALF = 0.5\n",
}


@pytest.mark.parametrize("how", LOOKING)
async def test_a_file_that_a_reference_looks_for_and_does_not_find_is_part_of_the_problem(
    tmp_path: Path, how: str
) -> None:
    missed = tmp_path / ("scale.py" if how == "imports it" else "scale")
    path = written(
        tmp_path, with_half(f"import pathlib\nF = pathlib.Path(__file__).with_name('scale')\n{LOOKING[how]}")
    )
    found = await load(path)
    assert sources(path, found)[str(missed)] == ""
    await Pool(found, tmp_path / "data").prepare(np.random.default_rng(1), silent)
    missed.write_text("HALF = 0.25\n" if how == "imports it" else "0.25")
    assert fingerprint(missed) != "", "and so tools answer that the problem changed"
    with pytest.raises(ProblemInvalid, match=f"{missed.name}, which the reference reads, changed"):
        await Pool(found, tmp_path / "more").prepare(np.random.default_rng(1), silent)


@pytest.mark.parametrize(("drawn", "labels"), [("np.random.random((8, 32)) < 0.5", True), ("x", False)])
async def test_floats_of_which_own_draws_are_zeros_and_ones_are_told_from_others(
    tmp_path: Path, drawn: str, labels: bool
) -> None:
    (tmp_path / "reference.py").write_text(
        "import numpy as np\n"
        "def get_inputs():\n"
        "    x = np.random.standard_normal((8, 32)).astype(np.float32)\n"
        f"    return [x, np.float32({drawn})]\n"
        "def forward(x, t):\n"
        "    return x * t\n"
    )
    (tmp_path / "problem.toml").write_text(
        'name = "masked"\n[dims]\n[inputs.x]\nshape = [8, 32]\n[inputs.t]\nshape = [8, 32]\n'
    )
    x, t = (await load(tmp_path)).shape_sets["default"].inputs
    assert (x.zero_or_one, t.zero_or_one) == (False, labels)
