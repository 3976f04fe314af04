"""The parts of the documents that are made from the code: ``python tests/repository/documents.py`` writes them anew.

Each generated part stands between ``<!-- name:begin -->`` and ``<!-- name:end -->``; a test fails where one is stale.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from nki_anvil.sim.calibration import replay
from nki_anvil.sim.instructions import TABLE as INSTRUCTIONS
from nki_anvil.sim.operations import ACCURACY, RANGES
from nki_anvil.sim.program import Program
from nki_anvil.sim.rules.reading import Reading, Use
from nki_anvil.sim.rules.table import TABLE as RULES
from nki_anvil.tools.catalogue import TOOLS

ROOT = Path(__file__).parents[2]


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(*rows: tuple[str, ...]) -> str:
    head, *body = rows
    return "\n".join([row(*head), row(*("---" for _ in head)), *(row(*cells) for cells in body)])


def tools() -> str:
    """The tools with their parameters; the first sentence of the description says what each does."""

    def first_sentence(text: str) -> str:
        return re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]

    def parameters(schema: dict[str, object]) -> str:
        required = schema.get("required", [])
        assert isinstance(required, list)
        properties = schema["properties"]
        assert isinstance(properties, dict)
        return ", ".join(f"`{name}`" if name in required else f"`{name}?`" for name in properties)

    rows = [
        (f"`{tool.name}`", first_sentence(tool.wire.description or ""), parameters(tool.wire.input_schema))
        for tool in TOOLS
    ]
    return table(("tool", "what it does", "parameters"), *rows)


def rules() -> str:
    """Every machine rule."""
    rows = [(f"`{rule.code}`", rule.text, rule.severity, rule.remedy, rule.source) for rule in RULES]
    return table(("code", "rule", "severity", "what to do", "source"), *rows)


def instructions() -> str:
    """Every instruction with its slots and engines."""
    rows = [
        (f"`{name}`", ", ".join(i.writes), ", ".join(i.reads), ", ".join(i.engines), ", ".join(i.attributes))
        for name, i in INSTRUCTIONS.items()
    ]
    return table(("instruction", "writes", "reads", "engines (default first)", "immediate values"), *rows)


class Asked(Reading):
    """A program without instructions that remembers which ones a rule asks for."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.names: set[str] = set()

    def named(self, *names: str) -> Iterator[Use]:
        self.names.update(names)
        return iter(())


def rules_of() -> dict[str, list[str]]:
    """The rules that ask for an instruction by name; those that look at all instructions ask for none."""
    from program_builder import ProgramBuilder

    found: dict[str, list[str]] = {name: [] for name in INSTRUCTIONS}
    for rule in RULES:
        asked = Asked(ProgramBuilder().program())
        list(rule.breaches(asked))
        for name in sorted(asked.names):
            found[name].append(rule.code)
    return found


def coverage() -> str:
    """Every instruction with whether it runs, the tests that compare it with NumPy, and its own rules."""
    from instruction_coverage import coverage_by_instruction

    tests, own = coverage_by_instruction(), rules_of()
    rows = [
        (
            f"`{name}`",
            ", ".join(INSTRUCTIONS[name].engines),
            "supported" if name in tests else "not tested",
            ", ".join(f"`{test}`" for test in tests.get(name, ())),
            ", ".join(f"`{code}`" for code in own[name]),
        )
        for name in INSTRUCTIONS
    ]
    return table(("instruction", "engines", "status", "compared with NumPy by", "rules of its own"), *rows)


def functions() -> str:
    """Every activation function with its range and how closely it is computed."""
    rows = [
        (f"`{name}`", "all reals" if name not in RANGES else "{:.6g} to {:.6g}".format(*RANGES[name]), ACCURACY[name])
        for name in sorted(ACCURACY)
    ]
    return table(("function", "valid on", "simulated to a relative error of"), *((n, r, f"{a:g}") for n, r, a in rows))


def accuracy() -> str:
    """The performance model against public recordings."""
    rows = [
        (
            case.case,
            case.quantity,
            f"{case.measured:,.4g} {case.unit}",
            f"{case.predicted:,.4g} {case.unit}",
            f"{case.ratio:.2f}",
            f"{case.goal:g}x" + ("" if case.within_goal else " (missed)") + (", not fitted" if case.unfitted else ""),
        )
        for case in replay()
    ]
    return table(("recorded case", "quantity", "measured", "predicted", "predicted / measured", "goal"), *rows)


def score() -> str:
    """How many kernels the judge is held to: each is a test, which fails where it is judged wrong."""
    from cheats.catalogue import CHEATS, HONEST

    return table(
        ("kernels", "judged right", "of"),
        ("exploits rejected by their gate", str(len(CHEATS)), str(len(CHEATS))),
        ("honest kernels accepted", str(len(HONEST)), str(len(HONEST))),
    )


def constructs() -> str:
    """Every name of Beta 1 that is another one now, and those that are the same."""
    from nki_anvil.lab import porting_table
    from nki_anvil.sim.beta1.modules import public

    same = [
        f"`{short}`: " + ", ".join(name for name in names if f"{short}.{name}" not in porting_table.CALLS)
        for short, names in public().items()
    ]
    kept = "\n".join(f"- {line}." for line in same if not line.endswith(": "))
    return f"{table(('Beta 1', 'current'), *porting_table.rows())}\n\nUnder the same name:\n\n{kept}"


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "tools": ("README.md", tools),
    "score": ("README.md", score),
    "accuracy": ("README.md", accuracy),
    "model-accuracy": ("docs/model.md", accuracy),
    "rules": ("resources/rules.md", rules),
    "instructions": ("resources/instructions.md", instructions),
    "coverage": ("resources/instructions.md", coverage),
    "functions": ("resources/instructions.md", functions),
    "constructs": ("resources/migration.md", constructs),
}


def filled(text: str, part: str, content: str) -> str:
    """The document with one generated part replaced."""
    begin, end = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    head, _, rest = text.partition(begin)
    _, found, tail = rest.partition(end)
    assert found, f"the markers of {part} are missing"
    return f"{head}{begin}\n{content}\n{end}{tail}"


def main() -> None:
    sys.path.append(str(ROOT / "tests"))
    for part, (name, make) in PARTS.items():
        path = ROOT / name
        path.write_text(filled(path.read_text(), part, make()))


if __name__ == "__main__":
    main()
