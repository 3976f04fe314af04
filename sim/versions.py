"""Which NKI has what: names and call forms that came or went between 0.2 and 0.7, and what to write instead.

Sources: the stubs in ``nki/api`` of aws-neuron-sdk at its tags v2.28.0 (NKI 0.2) to v2.32.0 (0.6), the component's
release notes up to SDK 2.33 (0.7), and the NKI migration guides.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, NamedTuple, TypeAlias

from nki_anvil.sim.errors import MissingName, TraceError

VERSIONS: Final = ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7")
CURRENT: Final = VERSIONS[-1]

Release: TypeAlias = tuple[int, ...]


class Change(NamedTuple):
    """The version in which something came or went, and what stands in its place before or after."""

    version: str
    instead: str


_TILES: Final = "the nki.isa instruction, with a dst from nl.ndarray"
_OWN: Final = "reshape, slices t[a:b] and .ap(pattern)"

CAME: Final[Mapping[str, Mapping[str, Change]]] = {
    "nki": {"simulate": Change("0.3", "nki_anvil.sim.simulate")},
    "nki.language": {
        "load": Change("0.3", "nisa.dma_copy into a tile of nl.ndarray"),
        "store": Change("0.3", "nisa.dma_copy"),
        "load_transpose2d": Change("0.3", "nisa.dma_transpose"),
        "transpose": Change("0.3", "nisa.nc_transpose"),
        "matmul": Change("0.3", "nisa.nc_matmul"),
        "gather_flattened": Change("0.3", "nisa.nc_n_gather"),
        "dropout": Change("0.3", "nisa.dropout"),
        "rand": Change("0.3", "nisa.rng"),
        "random_seed": Change("0.3", "nisa.set_rng_seed"),
        "broadcast_to": Change("0.3", ".ap(pattern) with a step of 0"),
        "expand_dims": Change("0.3", "reshape"),
        "ones": Change("0.3", "nl.ndarray and nisa.memset"),
        "full": Change("0.3", "nl.ndarray and nisa.memset"),
        "zeros_like": Change("0.3", "nl.zeros(t.shape, t.dtype)"),
        "empty_like": Change("0.3", "nl.ndarray(t.shape, t.dtype)"),
        **dict.fromkeys(
            ("all", "max", "mean", "min", "prod", "sum", "var", "where", "softmax", "rms_norm"), Change("0.3", _TILES)
        ),
        **dict.fromkeys(("cos", "tan", "ceil", "floor", "trunc", "negative"), Change("0.3", _TILES)),
        **dict.fromkeys(("mod", "fmod"), Change("0.3", "nisa.tensor_scalar, step by step")),
        **dict.fromkeys(("is_hbm", "is_on_chip", "is_psum", "is_sbuf"), Change("0.3", "t.buffer == nl.sbuf")),
        "abs_max": Change("0.4", "nl.abs, then nl.maximum"),
        "abs_min": Change("0.4", "nl.abs, then nl.minimum"),
        "prelu": Change("0.4", "nl.relu"),
        "bypass": Change("0.4", "nl.copy"),
        "average": Change("0.5", "nl.add and a multiplication"),
        "float8_e8m0fnu": Change("0.5", "nl.uint8"),
        "DType": Change("0.6", "str"),
        "fori_loop": Change("0.6", "for i in nl.dynamic_range(lower, upper)"),
        "while_loop": Change("0.6", "while register:"),
    },
    "nki.language.tile_size": {
        **dict.fromkeys(
            ("sbuf_size_bytes", "sbuf_fmax", "sbuf_fmax_bytes"),
            Change("0.4", "nl.tile_size.total_available_sbuf_size, bytes per partition"),
        ),
        **dict.fromkeys(("psum_bank_fmax", "psum_bank_fmax_bytes"), Change("0.4", "nl.tile_size.psum_fmax")),
        "psum_num_banks": Change("0.5", "the number 8"),
    },
    "NkiTensor": {
        **dict.fromkeys(
            ("slice", "permute", "rearrange", "reshape_dim", "flatten_dims", "expand_dim", "squeeze_dim"),
            Change("0.5", _OWN),
        ),
        "select": Change("0.5", "t[..., i], or .ap(pattern, scalar_offset=...)"),
        "vector_select": Change("0.5", ".ap(pattern, vector_offset=...)"),
        "broadcast": Change("0.5", ".ap(pattern) with a step of 0"),
        "is_contiguous": Change("0.5", "t.get_pattern()"),
        "is_indirect": Change("0.5", "nothing"),
        "reinterpret_cast": Change("0.5", "t.view(dtype)"),
    },
    "nki.isa": {
        "activate2": Change("0.4", "nisa.activation"),
        "VirtualRegister": Change("0.3", "nisa.register_alloc()"),
        "NkiValidationError": Change("0.3", "nothing"),
        "get_nc_sub_version": Change("0.5", "nisa.get_nc_version()"),
        "topk": Change("0.6", "nisa.max8 and nisa.nc_match_replace8"),
        "NkiInstruction": Change("0.6", "nothing: instructions return nothing to hold"),
        "NkiScalar": Change("0.7", "nisa.register_alloc()"),
        "scalar_load": Change("0.7", "nisa.register_alloc() and nisa.register_load"),
        "scalar_store": Change("0.7", "nisa.register_store"),
    },
    "nki.typing": dict.fromkeys(("tensor", "mutable_tensor"), Change("0.3", "no annotation")),
    "nki.compiler": dict.fromkeys(
        ("AddressRotation", "CompileConfig", "SpecializationConfig"), Change("0.7", "nothing: @nki.jit alone")
    ),
}
"""By module: names that the versions before do not have."""

WENT: Final[Mapping[str, Mapping[str, Change]]] = {
    "nki.language": {"dynamic_range": Change("0.7", "nl.fori_loop(lower, upper, body)")},
    "nki.isa": {
        **dict.fromkeys(
            ("tensor_copy_dynamic_src", "tensor_copy_dynamic_dst"),
            Change("0.4", "nisa.tensor_copy with .ap(scalar_offset=...)"),
        ),
    },
}
"""By module: names that this version and the later ones do not have."""

FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "nki.isa.dma_copy": {
        "0.2": "dst src dst_rmw_op? oob_mode? dge_mode? unique_indices? name?",
        "0.3": "dst src oob_mode? dge_mode? engine? name?",
    },
    "nki.isa.dma_transpose": {"0.3": "dst src axes? dge_mode? oob_mode? name?"},
    "nki.isa.dma_compute": {
        "0.2": "dst srcs scales reduce_op name?",
        "0.3": "dst srcs reduce_op scales? unique_indices? name?",
    },
    "nki.isa.affine_select": {
        "0.2": "dst pattern offset channel_multiplier on_true_tile on_false_value cmp_op? name?",
    },
    "nki.isa.iota": {"0.2": "dst pattern offset channel_multiplier? name?"},
    "nki.isa.nc_matmul": {
        "0.2": "dst stationary moving is_stationary_onezero? is_moving_onezero? is_transpose? tile_position? tile_size?"
        " perf_mode? name?",
    },
    "nki.isa.nonzero_with_count": {"0.2": "dst src index_offset? padding_val?"},
    "nki.isa.register_move": {"0.2": "dst imm"},
    "nki.isa.sendrecv": {"0.2": "src dst send_to_rank recv_from_rank pipe_id name? use_gpsimd_dma?"},
    "nki.isa.tensor_copy": {"0.2": "dst src engine? name? dtype?"},
    "nki.isa.memset": {"0.2": "dst value engine? name?"},
    "nki.isa.tensor_reduce": {"0.2": "dst op data axis negate? keepdims? name?"},
    "nki.isa.range_select": {
        "0.2": "dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd? reduce_res? reduce_op? range_start?"
        " on_false_value? name?",
    },
    "nki.isa.tensor_scalar_cumulative": {"0.2": "dst src op0 op1 imm0 imm1? reduce_cmd?"},
    "nki.isa.tensor_scalar_reduce": {
        "0.3": "dst data op0 operand0 reduce_op reduce_res reverse0? name?",
        "0.5": "dst data op0 operand0 reduce_op reduce_res reverse0? reduce_cmd? reduce_init? name?",
    },
    "nki.isa.topk": {"0.6": "val_dst idx_dst src n name?"},
    "nki.language.ndarray": {"0.2": "shape dtype buffer? name?"},
    "nki.language.program_id": {"0.2": "axis"},
    "nki.language.sequential_range": {"0.2": "start stop step"},
    "nki.language.shared_constant": {"0.2": "constant dtype?"},
    "nki.language.shared_identity_matrix": {"0.2": "n dtype?"},
}
"""Earlier parameters of a function, in order, by the last version that has them; a mark follows what may be absent."""


def release(version: str) -> Release:
    """The version's numbers; raises TraceError for one that is not simulated."""
    short = ".".join(version.split(".")[:2])
    if short not in VERSIONS:
        raise TraceError("NKI-VERSION", f"There is no NKI {version} here.", remedy=f"Set one of {', '.join(VERSIONS)}.")
    return tuple(int(part) for part in short.split("."))


def before(version: str, bound: str) -> bool:
    """Whether a version is earlier than another."""
    return release(version) < release(bound)


def parsed(version: str) -> bool:
    """Whether kernels were parsed under the strict subset of Python that began with 0.3 and ended with 0.6."""
    return release("0.3") <= release(version) <= release("0.6")


def lacks(module: str, name: str, version: str) -> bool:
    """Whether a version does not have a name, or no longer."""
    came, went = CAME.get(module, {}).get(name), WENT.get(module, {}).get(name)
    return (came is not None and before(version, came.version)) or (
        went is not None and not before(version, went.version)
    )


class Form(NamedTuple):
    """A function's parameters in order, and which of them a call has to give."""

    parameters: tuple[str, ...]
    required: tuple[str, ...]


def form(function: str, version: str) -> Form | None:
    """The parameters of a function in a version that calls it otherwise than the current one, else None."""
    for last, told in FORMS.get(function, {}).items():
        if not before(last, version):
            words = told.split()
            return Form(tuple(word.rstrip("?") for word in words), tuple(word for word in words if word[-1] != "?"))
    return None


def explanation(module: str, name: str, version: str) -> MissingName | None:
    """Why a version lacks a name, as an error that says since when and what to write; None where nothing is known."""
    came, went = CAME.get(module, {}).get(name), WENT.get(module, {}).get(name)
    if came is not None and before(version, came.version):
        return MissingName(
            "NKI-VERSION",
            f"{module}.{name} came with NKI {came.version}; this kernel is for {version}.",
            remedy=f"In {version}: {came.instead}.",
        )
    if went is not None and not before(version, went.version):
        return MissingName(
            "NKI-REMOVED", f"{module}.{name} is gone since NKI {went.version}.", remedy=f"Now: {went.instead}."
        )
    return None


INSTALLED: Final[ContextVar[str]] = ContextVar("nki_anvil.sim.version", default=CURRENT)
"""The version whose modules are installed in this context."""


def chosen(version: str | None) -> str:
    """The version asked for, else that of the installed modules; raises TraceError for one that is not simulated."""
    wanted = INSTALLED.get() if version is None else version
    release(wanted)
    return wanted
