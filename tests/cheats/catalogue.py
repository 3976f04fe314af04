"""Every exploit with its problem, the gate that stops it and what inputs show it; every honest kernel with its problem.

``wrong.toml`` and ``honest.toml`` tell a kernel by what it changes in its problem's own, so that the exploit is all
there is to read; one that shares too little with it stands whole in the folder of the same name. Attacks on the
process that runs kernel text are in ``tests/backends/test_hostile_kernels.py``, broken runs of a machine in
``tests/lab/test_verification.py``.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
SEEDS = FOLDER.parents[1] / "seeds" / "problems"
VARIANTS = FOLDER.parent / "kernels"


@dataclass(frozen=True)
class Entry:
    """One kernel. ``gate`` is empty for an honest one; ``quick`` ones run with every test run."""

    name: str
    problem: str
    path: Path
    """Its own text, or the one that it changes: the problem's, or that of another kernel of these folders (``of``)."""
    says: str = ""
    """What it tries."""
    changes: tuple[tuple[str, str], ...] = ()
    """Lines of the problem's kernel, each found once, and what stands in their place."""
    gate: str = ""
    family: str = ""
    """Of inputs, one that shows what ``values`` stops, where own draws do not."""
    unjudged: str = ""
    """Of a wrong one that passes: what its verdict says is not judged."""
    quick: bool = False

    def __str__(self) -> str:
        return self.name

    def text(self) -> str:
        """Raises AssertionError where the problem's kernel no longer has exactly once what is changed."""
        text = self.path.read_text()
        for old, new in self.changes:
            assert text.count(old) == 1, f"{self.name} changes what {self.path} does not have just once: {old}"
            text = text.replace(old, new)
        return (
            re.sub('""".*?"""', lambda _: f'"""{self.says}"""', text, count=1, flags=re.DOTALL) if self.says else text
        )


def own(problem: str) -> Path:
    """The plain kernel of a seed, or of a problem that only these tests have."""
    return next(place for folder in (SEEDS, FOLDER / "problems") if (place := folder / problem / "kernel.py").is_file())


def told(kind: str) -> list[Entry]:
    """The kernels of one list."""
    entries: list[Entry] = []
    for one in tomllib.loads((FOLDER / f"{kind}.toml").read_text())["kernel"]:
        whole = FOLDER / kind / f"{one['name']}.py"
        changed = FOLDER / one.pop("of") if "of" in one else own(one["problem"])
        path = changed if "changes" in one else whole
        entries.append(Entry(path=path, **one | {"changes": tuple(map(tuple, one.get("changes", ())))}))
    return entries


def variants() -> list[Entry]:
    """Faster kernels of the seeds, and the seeds' own."""
    faster = [path for path in sorted(VARIANTS.glob("*/*.py")) if path.stem not in ("wrong", "slower")]
    plain = [own(name) for name in sorted(path.name for path in SEEDS.iterdir() if path.is_dir())]
    return [Entry(f"{path.parent.name} {path.stem}", path.parent.name, path) for path in (*faster, *plain)]


CHEATS = told("wrong")
UNJUDGED = told("unjudged")
HONEST = [*told("honest"), *variants()]
