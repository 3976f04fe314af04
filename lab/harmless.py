"""What a file may do at its top level beside its kernel, by name: each of these changes nothing that a kernel asks for.

Public kernel files seed generators, tell logging what to say and mark tests. The list is closed: what else a library's
members do, nobody knows, and they stand under the main guard. Data only.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from nki_anvil.backends.worker.kernel_text import JIT_NAMES
from nki_anvil.lab.allowed import GIVEN_WHOLE, LANGUAGE, words

_NOTHING: Final = frozenset[str]()
SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "random.seed": _NOTHING,
    "numpy.random.seed": words("seed"),
    "torch.manual_seed": words("seed"),
    "torch.cuda.manual_seed": words("seed"),
    "torch.cuda.manual_seed_all": words("seed"),
    "warnings.filterwarnings": words("action message category module lineno append"),
    "warnings.simplefilter": words("action category lineno append"),
    "numpy.set_printoptions": words("precision threshold edgeitems linewidth suppress"),
    "logging.basicConfig": words("level format datefmt force"),
}
"""Calls that are statements, and what they may be told by name: not where to write, nor what to call."""

ASKING: Final = words("os.getenv os.environ.get torch.cuda.is_available")
"""Functions that answer with a text or a truth."""

BUILTINS: Final = words("""
    int float bool str len min max abs round sum pow range divmod list tuple dict sorted enumerate zip any all
""")
"""Builtins that compute with plain values. Told by name they are constants alone: no ``key`` that they would call."""

PRINTING: Final = words("sep end flush")
STREAMS: Final = words("sys.stdout sys.stderr")

BASES: Final = words("""
    torch.nn.Module torch.autograd.Function unittest.TestCase abc.ABC typing.NamedTuple typing.Protocol
""")
"""What a class beside the kernel may be derived from: nothing of it is called when the class is made."""

_DECORATORS: Final = words("""
    pytest.fixture torch.no_grad torch.inference_mode torch.compile jax.jit functools.cache functools.lru_cache
    contextlib.contextmanager dataclasses.dataclass abc.abstractmethod
""")
"""Decorators that do not call what they are given."""
METHOD_KINDS: Final = words("property staticmethod classmethod")
_MARK: Final = re.compile(r"pytest\.mark\.\w+")
EXECUTING: Final = words("pytest.mark.skipif pytest.mark.xfail")
"""Marks whose condition pytest executes where it is a text."""

EXCEPTIONS: Final = frozenset(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)

_PLACES: Final = words("sys.version_info sys.platform typing.TYPE_CHECKING typing_extensions.TYPE_CHECKING")
_DTYPE: Final = re.compile(r"(torch|jax\.numpy)\.(b?float|u?int|bool|complex|long|half|double)\w*")
_LEVEL: Final = re.compile(r"logging\.[A-Z]+")
_VERSION: Final = re.compile(r"\w+\.__version__")


def is_decorator(path: str) -> bool:
    """Whether a decorator does not call what it is given."""
    if path.partition(".")[0] in LANGUAGE:
        return path.rpartition(".")[2] in JIT_NAMES
    return path in _DECORATORS or _MARK.fullmatch(path) is not None


def is_constant(path: str) -> bool:
    """Whether it is a number, a text, a format, or a member of the language, and no module."""
    if path.partition(".")[0] in LANGUAGE:
        return path not in GIVEN_WHOLE and "._" not in path
    module, _, name = path.rpartition(".")
    if module in ("numpy", "math"):
        known = getattr(np if module == "numpy" else math, name, None)
        return isinstance(known, float) or (isinstance(known, type) and issubclass(known, np.generic))
    return path in _PLACES or any(form.fullmatch(path) for form in (_DTYPE, _LEVEL, _VERSION))
