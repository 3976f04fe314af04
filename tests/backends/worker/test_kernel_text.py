import pytest

from nki_anvil.backends.worker.absent import AbsentModule
from nki_anvil.backends.worker.kernel_text import KernelTextError, entry_name, parse
from nki_anvil.backends.worker.rewriting import load

PUBLIC = '''"""A kernel as people publish it."""
import os, math
import torch
from torch_neuronx import xla_device as device

os.environ["NEURON_CC_FLAGS"] = "-O1"
P = 128
Q: int = P * 2
print("hello")

def helper(x: torch.Tensor, kind=torch.float32):
    return math.ceil(x / P)

@torch.no_grad()
def reference(x):
    return x

def kernel(x):
    return helper(x)

if __name__ == "__main__":
    kernel(device())
'''


def test_statements_that_do_something_are_left_out_each_with_its_line() -> None:
    assert parse(PUBLIC).left_out == (
        "line 2: import os",
        "line 3: import torch",
        "line 4: from torch_neuronx import xla_device as device",
        "line 6: os.environ['NEURON_CC_FLAGS'] = '-O1'",
        "line 9: print('hello')",
        "line 21: if __name__ == '__main__':",
    )


def test_functions_that_only_mention_an_absent_module_still_work() -> None:
    namespace, left_out = load(parse(PUBLIC))
    assert namespace["kernel"](200) == 2
    assert namespace["Q"] == 256
    assert left_out == ["line 15: @torch.no_grad()"]


def test_an_assignment_to_what_a_name_has_is_kept() -> None:
    parsed = parse("SIGN = -1.0\nSIGN *= -1.0\nTABLE = [1]\nTABLE[0] += 1\n")
    namespace, _ = load(parsed)
    assert namespace["SIGN"] == 1.0
    assert parsed.left_out == ("line 4: TABLE[0] += 1",)


def test_what_needs_an_absent_module_leaves_no_earlier_meaning_of_its_name() -> None:
    namespace, _ = load(parse("import torch\nSIGN = -1.0\nSIGN = torch.sign(2)\n"))
    with pytest.raises(AbsentModule, match="`SIGN` is not there when a kernel is traced, since line 3 needs"):
        namespace["SIGN"]()


@pytest.mark.parametrize("asks", ["bool(torch)", "torch.x == 1", "str(torch)", "f'{torch}'", "{torch: 1}", "torch()"])
def test_an_absent_module_answers_no_question(asks: str) -> None:
    namespace, _ = load(parse(f"import torch\n\ndef kernel(x):\n    return {asks}\n"))
    with pytest.raises(AbsentModule):
        namespace["kernel"](1)


def test_a_text_that_does_not_parse_says_at_which_line() -> None:
    with pytest.raises(KernelTextError) as caught:
        parse("import nki\n\ndef kernel(x:\n    return x\n")
    assert (caught.value.code, caught.value.line) == ("SyntaxError", 3)


@pytest.mark.parametrize(
    ("text", "wanted", "entry"),
    [
        ("def kernel(x): ...\ndef optimized_kernel(x): ...", None, "kernel"),
        ("def helper(x): ...\ndef optimized_kernel(x): ...", None, "optimized_kernel"),
        ("def helper(x): ...\n@nki.jit\ndef mine(x): ...", None, "mine"),
        ("def helper(x): ...\n@nki.jit(mode='x')\ndef mine(x): ...", None, "mine"),
        ("def helper(x): ...\n@jit\ndef mine(x): ...", None, "mine"),
        ("def body(x): ...\nmine = nki.jit(body)", None, "mine"),
        ("def body(x): ...\nkernel = body", None, "kernel"),
        ("def kernel(x): ...\ndef other(x): ...", "other", "other"),
    ],
)
def test_the_kernels_function_is_found(text: str, wanted: str | None, entry: str) -> None:
    assert entry_name(parse(text), wanted) == entry


@pytest.mark.parametrize(
    ("text", "wanted", "says"),
    [
        ("P = 128", None, "no jitted function"),
        ("@nki.jit\ndef a(x): ...\n@nki.jit\ndef b(x): ...", None, "several: `a`, `b`"),
        ("def kernel(x): ...", "other", "has no function `other`; it defines `kernel`"),
        ("if True:\n    def kernel(x): ...\nelse:\n    def kernel(x): ...", None, "`kernel` is defined in a branch"),
        ("try:\n    def mine(x): ...\nfinally:\n    pass", "mine", "`mine` is defined in a branch"),
    ],
)
def test_a_text_without_a_clear_function_says_what_it_found(text: str, wanted: str | None, says: str) -> None:
    with pytest.raises(KernelTextError) as caught:
        entry_name(parse(text), wanted)
    assert says in caught.value.message
    assert caught.value.code == "EntryMissing"


@pytest.mark.parametrize(
    ("text", "wanted", "code", "remedy"),
    [
        ("", None, "EntryMissing", "Write one function `kernel`, decorated with `@nki.jit`"),
        ("  \n\n", "kernel", "EntryMissing", "anvil://guides/language shows one"),
        ("def kernel(x:\n    pass\n", None, "SyntaxError", "Mend line 1, or the line before it"),
        ("def kernel(x):\0\n    pass\n", None, "SyntaxError", "null bytes, as UTF-16"),
        ("def kernal(x): ...", "kernel", "EntryMissing", "did you mean `kernal`?"),
        ("def zzz(x): ...", "kernel", "EntryMissing", "Name the kernel's function `kernel`."),
    ],
)
def test_a_text_that_is_no_kernel_is_told_the_next_step(text: str, wanted: str | None, code: str, remedy: str) -> None:
    with pytest.raises(KernelTextError) as caught:
        entry_name(parse(text), wanted)
    assert caught.value.code == code
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "# -*- coding: utf-7 -*-\n# +AAo-import os\ndef kernel(x):\n    return x\n",
        "\n \t# vim: set fileencoding=latin-1 :\ndef kernel(x):\n    return x\n",
        "# a\r# Coding=none coding:Latin_1\ndef kernel(x):\n    return x\n",
        "#!/usr/bin/python\r\n\f#coding:rot13\ndef kernel(x):\n    return x\n",
    ],
)
def test_a_text_that_an_import_would_decode_to_another_is_refused(text: str) -> None:
    with pytest.raises(KernelTextError) as caught:
        parse(text)
    assert caught.value.code == "SyntaxError"
    assert "a kernel is UTF-8 text" in caught.value.message
    assert caught.value.line in (1, 2)


@pytest.mark.parametrize(
    "first",
    [
        "# -*- coding: UTF_8 -*-",
        "# coding: utf-8-unix",
        "# en-coding",
        "#\n#\n# coding: latin-1",
        "x = '# coding: utf-7'",
    ],
)
def test_a_text_that_is_utf_8_may_say_so(first: str) -> None:
    assert parse(f"{first}\ndef kernel(x):\n    return x\n").statements


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\n" * 3000, "3001 statements"),
        (f"x = [{'1, ' * 250_000}]", "200000 parts"),
        (f"x = 0x{'f' * 9000}", "36000 bits"),
    ],
)
def test_a_text_that_would_be_read_for_minutes_is_refused(source: str, said: str) -> None:
    with pytest.raises(KernelTextError, match=said) as raised:
        parse(f"{source}\ndef kernel(x):\n    return x\n")
    assert raised.value.remedy
