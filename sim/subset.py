"""What of Python a version's compiler takes otherwise than the simulator does, found in the text.

The compilers of NKI 0.2 to 0.6 parsed kernels instead of running them; every version's knows a kernel by `@nki.jit`.

The simulator runs a kernel as Python, as NKI 0.7 does: without these findings it would accept more than a device of an
earlier version. What the documentation says is refused is an error; what it merely leaves out is a warning.
Sources: NKI migration guides, NKI language guide up to 0.6, release notes of 0.3 to 0.7, with their known issues.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from nki_anvil.sim import versions
from nki_anvil.sim.parsing import parsed
from nki_anvil.sim.rules.finding import Finding

_DEFINITIONS: Final = (ast.FunctionDef, ast.ClassDef)
_BASES: Final = frozenset({"NKIObject", "Enum", "IntEnum", "object", "NamedTuple"})
_JIT: Final = "jit"
_DECORATORS: Final = frozenset({_JIT, "nki_jit", "baremetal", "benchmark", "profile", "simulate_kernel", "trace"})
"""What makes a function a kernel, in both dialects."""


class Pattern(NamedTuple):
    """One construct: the versions that object to it, how, and how it is found in one top-level definition."""

    code: str
    first: str
    last: str
    severity: str
    message: str
    remedy: str
    found: Callable[[ast.stmt], Iterable[int]]


def findings(text: str, version: str, entry: str | None = None) -> tuple[Finding, ...]:
    """What ``entry`` (else every jitted function) reaches and a version's compiler does not take, by line.

    Empty for text that does not parse.
    """
    try:
        tree = _by_first_names(parsed(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    wanted = versions.release(version)
    defined = {s.name: s for s in tree.body if isinstance(s, _DEFINITIONS)}
    assigned = {name: s for s in tree.body if isinstance(s, (ast.Assign, ast.AnnAssign)) for name in _targets(s)}
    entries = [entry] if entry is not None and entry in defined else [n for n, s in defined.items() if _is_kernel(s)]
    seen: set[Finding] = set()
    reached = [one for one in _reached({**assigned, **defined}, entries) if isinstance(one, _DEFINITIONS)]
    for patterns, definitions in ((SIGNATURES, [defined[n] for n in entries]), (PATTERNS, reached)):
        for pattern in patterns:
            if versions.release(pattern.first) <= wanted <= versions.release(pattern.last):
                seen |= {_finding(pattern, line) for definition in definitions for line in pattern.found(definition)}
    if versions.before(version, "0.7"):
        seen |= set(_nested_kernels(defined, reached))
    return tuple(sorted(seen, key=lambda finding: (finding.line, finding.code)))


def _by_first_names(tree: ast.Module) -> ast.Module:
    """What is imported under another name, under its own: `Kind` of `from enum import Enum as Kind` is `Enum`."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.asname: alias.name for node in imports for alias in node.names if alias.asname}
    if not names:
        return tree
    renamed = copy.deepcopy(tree)
    for node in ast.walk(renamed):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return renamed


def _finding(pattern: Pattern, line: int) -> Finding:
    return Finding(pattern.code, pattern.severity, pattern.message, line, pattern.remedy)


def _reached(defined: Mapping[str, ast.stmt], entries: Sequence[str]) -> list[ast.stmt]:
    """Top-level functions, classes and assignments that the entries name, directly or not."""
    waiting = list(entries)
    found: dict[str, ast.stmt] = {}
    while waiting:
        name = waiting.pop()
        if name in defined and name not in found:
            found[name] = defined[name]
            waiting += [node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)]
    return list(found.values())


def _targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


def _is_kernel(statement: ast.stmt) -> bool:
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    return any(_last_name(decorator) == _JIT for decorator in decorators)


def _last_name(node: ast.expr) -> str:
    """``jit`` of ``nki.jit`` and of ``nki.jit(...)``."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _nested_kernels(defined: Mapping[str, ast.stmt], reached: Sequence[ast.stmt]) -> Iterator[Finding]:
    """Calls of jitted functions inside what is reached: helpers have to be plain."""
    kernels = {name for name, statement in defined.items() if _is_kernel(statement)}
    for definition in reached:
        for node in ast.walk(definition):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kernels:
                message = f"`{node.func.id}` is jitted and called from a kernel, which only NKI 0.7 takes."
                remedy = "Leave the decorator to the outermost function."
                yield Finding("NKI-SUBSET-NESTED", "error", message, node.lineno, remedy)


def _nodes(*kinds: type[ast.AST]) -> Callable[[ast.stmt], Iterator[int]]:
    """The lines of some kinds of nodes."""

    def found(definition: ast.stmt) -> Iterator[int]:
        for node in ast.walk(definition):
            if isinstance(node, kinds):
                yield getattr(node, "lineno", 0)

    return found


def _keyword_only(definition: ast.stmt) -> Iterator[int]:
    if isinstance(definition, ast.FunctionDef) and definition.args.kwonlyargs:
        yield definition.args.kwonlyargs[0].lineno


def _list_defaults(definition: ast.stmt) -> Iterator[int]:
    if isinstance(definition, ast.FunctionDef):
        given = [*definition.args.defaults, *definition.args.kw_defaults]
        yield from (default.lineno for default in given if isinstance(default, ast.List))


def _undecorated(definition: ast.stmt) -> Iterator[int]:
    decorators = definition.decorator_list if isinstance(definition, ast.FunctionDef) else []
    if _DECORATORS.isdisjoint(map(_last_name, decorators)):
        yield definition.lineno


def _prints(definition: ast.stmt) -> Iterator[int]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno


def _identity(definition: ast.stmt) -> Iterator[int]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            yield node.lineno


def _classes(definition: ast.stmt) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(definition) if isinstance(node, ast.ClassDef))


def _inheritance(definition: ast.stmt) -> Iterator[int]:
    for node in _classes(definition):
        if any(_last_name(base) not in _BASES for base in node.bases):
            yield node.lineno


def _aliases(definition: ast.stmt) -> Iterator[int]:
    """Members of enumerations whose values may be another's: all are whole numbers or texts, or all are ``auto()``."""
    for node in _classes(definition):
        if not any(_last_name(base).endswith("Enum") for base in node.bases):
            continue
        members = [part for part in node.body if isinstance(part, (ast.Assign, ast.AnnAssign)) and part.value]
        seen: set[object] = set()
        for part in members if not all(map(_is_auto, members)) else ():
            value = _plain_value(part.value)
            if value is None or value in seen:
                yield part.lineno
            seen.add(value)


def _is_auto(part: ast.Assign | ast.AnnAssign) -> bool:
    return isinstance(part.value, ast.Call) and _last_name(part.value) == "auto" and not part.value.args


def _plain_value(value: ast.expr | None) -> object:
    """A whole number or a text that is written out; None for anything else, which may equal another value."""
    try:
        found: object = ast.literal_eval(value) if value is not None else None
    except ValueError:
        return None
    return found if type(found) in (int, str) else None


def _bare_post_init(definition: ast.stmt) -> Iterator[int]:
    for node in _classes(definition):
        if not any(map(_calls_post_init, node.decorator_list)):
            yield from (p.lineno for p in node.body if isinstance(p, ast.FunctionDef) and p.name == "__post_init__")


def _calls_post_init(decorator: ast.expr) -> bool:
    """Whether it is ``@dataclass``, which is not told what to do about ``__init__``."""
    told = decorator.keywords if isinstance(decorator, ast.Call) else []
    return _last_name(decorator) == "dataclass" and all(keyword.arg not in ("init", None) for keyword in told)


def _dynamic_ranges(definition: ast.AST) -> Iterator[int]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and _last_name(node) == "dynamic_range":
            yield node.lineno


def _nested_dynamic_ranges(definition: ast.stmt) -> Iterator[int]:
    for node in ast.walk(definition):
        if isinstance(node, ast.For) and any(_dynamic_ranges(node.iter)):
            yield from (line for inside in node.body for line in _dynamic_ranges(inside))


def _key_types(definition: ast.stmt) -> Iterator[int]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Dict):
            yield from (k.lineno for k in node.keys if isinstance(k, ast.Constant) and not isinstance(k.value, str))


def _blocks(definition: ast.stmt) -> Iterator[int]:
    for node in ast.walk(definition):
        if isinstance(node, ast.With) and any(_last_name(i.context_expr) != "no_reorder" for i in node.items):
            yield node.lineno


SIGNATURES: Final = (
    Pattern(
        "NKI-SUBSET-KWONLY", "0.3", "0.6", "error", "The kernel's signature has a keyword-only marker `*`.",
        "Leave the `*` out and move parameters with defaults to the end.", _keyword_only,
    ),
    Pattern(
        "NKI-SUBSET-LIST", "0.3", "0.6", "error", "A parameter of the kernel has a list as its default.",
        "Write a tuple: kernels are cached by their arguments.", _list_defaults,
    ),
    Pattern(
        "NKI-NO-JIT", "0.2", versions.CURRENT, "warning",
        "The kernel has no `@nki.jit`, by which the vendor's toolchain knows a kernel.",
        "It is traced here all the same; write `@nki.jit` above it before it goes elsewhere.", _undecorated,
    ),
)  # fmt: skip
"""Of the kernel itself. Versions are inclusive."""

PATTERNS: Final = (
    Pattern(
        "NKI-SUBSET-YIELD", "0.2", "0.6", "error", "A generator, which only NKI 0.7 takes.",
        "Return a list, or write the loop out.", _nodes(ast.Yield, ast.YieldFrom, ast.GeneratorExp),
    ),
    Pattern(
        "NKI-SUBSET-IS", "0.3", "0.6", "warning", "`is` compares identities, which these compilers are said to refuse.",
        "Write == or !=.", _identity,
    ),
    Pattern(
        "NKI-SUBSET-CLASS", "0.2", "0.6", "warning", "A class inherits from another one than nl.NKIObject or Enum.",
        "Inherit from nl.NKIObject only.", _inheritance,
    ),
    Pattern(
        "NKI-SUBSET-ALIAS", "0.2", "0.6", "error",
        "An enumeration has two names of one value, or may have: one member to Python, two to these compilers.",
        "Give each member a whole number or a text of its own, written out, or each of them auto().", _aliases,
    ),
    Pattern(
        "NKI-SUBSET-INIT", "0.2", "0.6", "error",
        "`__post_init__` of a class without `@dataclass`, or told `init=`: these compilers call it, Python does not.",
        "Write @dataclass above the class, or `__init__`.", _bare_post_init,
    ),
    Pattern(
        "NKI-SUBSET-KEY", "0.2", "0.6", "warning", "A dictionary has a key that is no string.",
        "Use strings as keys.", _key_types,
    ),
    Pattern(
        "NKI-SUBSET-WITH", "0.2", "0.6", "warning", "A `with` block other than nl.no_reorder().",
        "Call what the block does.", _blocks,
    ),
    Pattern(
        "NKI-SUBSET-PYTHON", "0.2", "0.6", "warning",
        "A construct that the NKI language guide of these versions does not know.",
        "Write a plain function, list or loop.",
        _nodes(ast.Lambda, ast.Set, ast.SetComp, ast.NamedExpr, ast.Match, ast.Nonlocal, ast.Try),
    ),
    Pattern(
        "NKI-DEPRECATED", "0.6", "0.6", "warning", "nl.dynamic_range is deprecated since NKI 0.6 and gone in 0.7.",
        "Use nl.fori_loop(lower, upper, body).", _dynamic_ranges,
    ),
    Pattern(
        "NKI-KNOWN-ISSUE", "0.2", "0.3", "warning",
        "Up to NKI 0.3 a loop on the device may race with what was written before it to memory that it uses.",
        "Write what the loop uses inside of it, unroll it with nl.affine_range, or use NKI 0.4.", _dynamic_ranges,
    ),
    Pattern(
        "NKI-KNOWN-ISSUE", "0.4", "0.6", "warning",
        "Nested loops on the device that carry values do not compile up to NKI 0.6: \"Could not find register\".",
        "Unroll the outer one with nl.affine_range.", _nested_dynamic_ranges,
    ),
    Pattern(
        "NKI-PRINT", "0.2", versions.CURRENT, "warning",
        "`print` runs once, while the kernel is compiled: it shows shapes and names, never data.",
        "To see values on the device use nl.device_print(prefix, tensor); else remove it.", _prints,
    ),
)  # fmt: skip
"""Of everything that the kernel reaches. Versions are inclusive."""
