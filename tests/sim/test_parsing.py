"""Kernels are judged in several threads at once; the parser of CPython 3.11 is not made for that."""

from concurrent.futures import ThreadPoolExecutor

from seed_on_simulator import NAMES, PROBLEMS

from nki_anvil.sim.parsing import parsed, parsed_expression

TEXTS = [(PROBLEMS / name / "kernel.py").read_text() for name in NAMES] * 8


def test_many_threads_parse_at_once():
    with ThreadPoolExecutor(16) as pool:
        trees = list(pool.map(parsed, TEXTS))
        sums = list(pool.map(parsed_expression, ["(" * 40 + "1" + ")" * 40 + f" + {n}" for n in range(200)]))
    assert len(trees) == len(TEXTS)
    assert len(sums) == 200
