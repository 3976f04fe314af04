"""What kernel text may name: builtins, modules with their attributes, and which attributes nobody may. Data only.

The list gives good errors; that no kernel can do harm rests on the process it runs in.
"""

from __future__ import annotations

import typing
from typing import Final, cast

from nki_anvil.backends.worker.asking import HIDDEN, words

BUILTINS: Final = words("""
    abs all any bool dict divmod enumerate float frozenset int isinstance issubclass len list max min object pow print
    range repr reversed round set slice sorted staticmethod str sum tuple zip
    True False None Ellipsis
    ArithmeticError AssertionError AttributeError Exception IndexError KeyError NotImplementedError RuntimeError
    TypeError ValueError ZeroDivisionError
""")
"""``type``, ``getattr`` and ``hasattr`` are there in the forms that ``kernel_reading`` knows."""

BY_NAME: Final = frozenset({"getattr", "hasattr"})
"""Builtins that take an attribute's name: allowed with a literal one that could stand behind a dot."""

FORBIDDEN: Final = words("""
    aiter anext ascii breakpoint compile delattr dir eval exec exit format globals help id input locals memoryview
    open quit setattr type vars __import__ __build_class__ __builtins__ __loader__ __spec__ BaseException SystemExit
    KeyboardInterrupt GeneratorExit
""")
"""A variable of a function may bear such a name, and where it does not, the name is the builtin's."""

NEVER: Final = words("""
    breakpoint compile delattr eval exec getattr globals hasattr locals open setattr vars __import__ __build_class__
    __builtins__ __loader__ __spec__
""")
"""Of these, not even a variable may bear the name: what it means where it stands depends on scopes."""

EVALUATING: Final = words("get_type_hints ForwardRef evaluate_forward_ref get_annotations")
"""Members of public modules that execute the text of annotations, which is not read."""

SPEAKING: Final = words("print device_print")
"""What a kernel that runs inside of a user's program may not do: figures are read from what that program says."""

RUNNING: Final = words("simulate simulate_kernel benchmark profile baremetal")
"""What runs a kernel on data, by the settings of whoever calls it."""

FOREIGN: Final = words("""
    abc builtins contextlib ctypes functools gc importlib inspect io itertools json logging np numpy os pathlib pickle
    platform re shutil subprocess sys tempfile threading torch traceback types warnings weakref
""")
"""Modules that others have imported for themselves, and that can be reached through them."""

SPECIAL: Final = words("__all__ __version__ __author__")
"""Names with two underscores that a text may give a meaning to. By others Python calls what a text has not called, and
hands it what nobody has given away; libraries are told which text to execute, or where in memory an array lies."""
METHODS: Final = words("__init__ __post_init__ __repr__ __str__")
"""The same of methods alone, without decorators."""

NAMING: Final = words("__repr__ __str__")
"""Methods that a text may define, and not ask for by name: what an object calls itself tells where it is."""

LANGUAGE: Final = words("nki neuronxcc")
"""Packages that kernels are written with."""
BASES: Final = words("""
    enum.Enum enum.IntEnum enum.StrEnum nki.language.NKIObject neuronxcc.nki.language.NKIObject
""")
"""What a class may be derived from, as the vendor's compilers up to 0.6 have it: what a class inherits, its
text does not show."""

NO_FIELDS: Final = words("ClassVar InitVar KW_ONLY")
"""Annotations by which dataclasses tell what is no field, in texts wherever they find their module."""
TYPES_ABSENT: Final = words("torch.device torch.dtype torch.Tensor jax.Array")
"""What a field may be said to be, though it is not there when a kernel is traced."""

MAKERS: Final = dict.fromkeys(("enum.Enum", "enum.IntEnum", "enum.StrEnum"), "the base of a class with members") | {
    "dataclasses.dataclass": "the decorator of a class",
    "numpy.ndarray": "a type that something is compared with",
}
"""Called, they make classes with whatever attributes, execute the names of fields as text, or show unwritten memory."""

FORBIDDEN_PREFIXES: Final = ("__", "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_")
"""Attributes through which Python code reaches frames, code objects and the interpreter."""

FORBIDDEN_ATTRIBUTES: Final = words("""
    ctypes tofile dump dumps fromfile storage indirection recorder builder mro evaluate _evaluate evaluate_bound
    evaluate_constraints evaluate_default evaluate_value register cache_info
    cache_clear cache_parameters _finfo_cache _finfo_name_map _finfo_type_map _max_vals _min_vals get_nc_sub_version
""")
"""Through these arrays reach the system's libraries and files, tensors what records the program, classes the classes
above them, annotations their text, which they execute; abstract classes remember others, caches who asked, and types'
limits their tables; and a revision of the chip is one that nobody verifies."""

UNSEEN: Final = HIDDEN
"""An object of the text's own may have them."""

OF_NUMPY: Final = words("dtype axis axes k keepdims num endpoint indexing order")
"""How NumPy's functions may be told what to do: not where to write, nor what to leave as memory was found."""

PUBLIC: Final = None
"""Every name that does not begin with an underscore."""

_NUMPY: Final = words("""
    bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 half single double intp int_ bool
    integer floating number generic dtype finfo iinfo issubdtype result_type promote_types ndarray newaxis pi e inf nan
    add subtract multiply divide true_divide floor_divide maximum minimum fmax fmin max min amax amin sum mean prod
    negative abs absolute square sqrt rsqrt reciprocal power exp exp2 log log2 log10 log1p expm1 tanh sin cos tan arctan
    sign floor ceil rint round trunc mod remainder equal not_equal less less_equal greater greater_equal logical_and
    logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert bitwise_not left_shift right_shift
    bitwise_left_shift bitwise_right_shift logical_shift_left arithmetic_shift_left any all where clip copy
    identity eye ones zeros full arange linspace array asarray tri tril triu tile repeat stack concatenate
    expand_dims reshape transpose broadcast_to mgrid ogrid meshgrid ones_like zeros_like full_like diag outer
    unravel_index ravel_multi_index gcd lcm argmax argmin cumsum cumprod isnan isinf isfinite ndindex
""")
"""Dtypes, functions given as ``op``, and constants that depend on no data: there is none in the process that traces."""

_TYPING: Final = (frozenset(cast("list[str]", vars(typing)["__all__"])) | words("override TypeAliasType")) - words(
    "TypedDict get_origin get_args overload get_overloads clear_overloads Text deprecated"
)
"""What typing gives away, but for what makes or finds classes, remembers functions, or is ``str`` by another name; what
else it holds are modules that it imports."""

MODULES: Final[dict[str, frozenset[str] | None]] = {
    "nki": PUBLIC,
    "neuronxcc.nki": PUBLIC,
    "neuronxcc": words("nki"),
    "numpy": _NUMPY,
    "ml_dtypes": PUBLIC,
    "math": PUBLIC,
    "typing": _TYPING,
    "typing_extensions": _TYPING,
    "collections.abc": PUBLIC,
    "dataclasses": words("dataclass field replace"),
    "enum": words("Enum IntEnum StrEnum auto"),
    "functools": words("reduce"),
    "itertools": words("product chain zip_longest combinations permutations pairwise"),
    "operator": words("add sub mul floordiv truediv neg eq ne lt le gt ge"),
    "__future__": words("annotations"),
}
"""The longest prefix decides, and what is below a module with PUBLIC names is public as well."""

_PARTS: Final = words("dtype language isa isa.constants typing compiler compiler.backends collectives")
GIVEN_WHOLE: Final = MODULES.keys() | {f"{nki}.{part}" for nki in ("nki", "neuronxcc.nki") for part in _PARTS}
"""Modules, of which a text names members behind a dot: by another name nobody sees what is asked of them."""
