"""Kernel texts that nobody would write: seeds with tokens dropped, doubled and changed, and a small grammar."""

from __future__ import annotations

import io
import random
import tokenize
from collections.abc import Iterator

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n@nki.jit\ndef kernel(x):\n"
NAMES = ("x", "out", "tile", "other", "i")
NUMBERS = ("0", "1", "-1", "2", "7", "128", "129", "512", "1e30", "2**31", "0.5", "None")
OPERATORS = ("nl.add", "nl.multiply", "nl.maximum", "nl.divide", "nl.power", "nl.nothing")
TYPES = ("nl.float32", "nl.bfloat16", "nl.int32", "nl.float8_e4m3", "x.dtype", "'float32'")
BUFFERS = ("nl.sbuf", "nl.psum", "nl.shared_hbm", "nl.hbm", "None")


def mutated(text: str, chance: random.Random) -> str:
    """One to four tokens dropped, doubled, swapped or replaced; it need not parse any more."""
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    lines = text.splitlines()
    for _ in range(chance.randint(1, 4)):
        token, other = chance.choice(tokens), chance.choice(tokens)
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        if token.type == tokenize.NUMBER:
            new = chance.choice(NUMBERS)
        else:
            new = chance.choice(["", token.string * 2, other.string, f"({token.string})", f"{token.string}[0]"])
        lines[row] = lines[row][:start] + new + lines[row][end:]
    return "\n".join(lines) + "\n"


def sentence(chance: random.Random) -> str:
    """A kernel that parses; what it means is left to chance."""
    body = [line for _ in range(chance.randint(1, 7)) for line in _statement(chance)]
    return HEAD + "".join(f"    {line}\n" for line in [*body, f"return {chance.choice(NAMES)}"])


def _statement(chance: random.Random) -> Iterator[str]:
    match chance.randrange(6):
        case 0 | 1:
            shape = f"({_number(chance)}, {_number(chance)})" if chance.random() < 0.5 else "x.shape"
            kind, buffer = chance.choice(TYPES), chance.choice(BUFFERS)
            yield f"{chance.choice(NAMES)} = nl.ndarray({shape}, dtype={kind}, buffer={buffer})"
        case 2:
            yield f"nisa.dma_copy(dst={_place(chance)}, src={_place(chance)})"
        case 3:
            operation = f"op0={chance.choice(OPERATORS)}, operand0={_number(chance)}"
            yield f"nisa.tensor_scalar(dst={_place(chance)}, data={_place(chance)}, {operation})"
        case 4:
            yield f"for i in range({_number(chance)}):"
            yield f"    nisa.tensor_copy(dst={_place(chance)}, src={_place(chance)})"
        case _:
            yield f"{chance.choice(NAMES)} = {_place(chance)} + {_number(chance)}"


def _place(chance: random.Random) -> str:
    name = chance.choice(NAMES)
    return name if chance.random() < 0.6 else f"{name}[{_number(chance)}:{_number(chance)}, 0:{_number(chance)}]"


def _number(chance: random.Random) -> str:
    return chance.choice(NUMBERS)
