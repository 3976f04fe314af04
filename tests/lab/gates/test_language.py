"""What the language gate says of text that does not parse."""

from nki_anvil.lab.gates import language


def test_a_syntax_error_is_one_sentence_with_its_line():
    found = language.judge("import nki\ndef kernel(x:\n    return x\n", None)
    assert found.passed is False
    assert found.line == 2
    assert found.detail.endswith("(line 2: def kernel(x:).")
    assert ".." not in found.detail
    assert found.hint.startswith("Mend line 2")


def test_what_is_wrong_is_said_once_and_the_hint_says_what_to_do():
    found = language.judge('import nki\n@nki.jit\ndef kernel(x):\n    open("/etc/passwd")\n    return x\n', None)
    assert (
        found.detail == 'Line 4: `open` is not available in a kernel, also as a name of your own (open("/etc/passwd")).'
    )
    assert found.hint == "Rename or remove it."


def test_several_objections_are_said_line_by_line_and_the_hint_counts_the_lines():
    body = '    open("a")\n    x.copy()\n    eval("1")\n    return x\n'
    found = language.judge(f"import nki\n@nki.jit\ndef kernel(x):\n{body}", None)
    assert found.detail.count("Rename or remove it.") == 2
    assert found.hint == "Mend lines 4, 6."


def test_a_text_that_is_nested_too_deeply_is_refused_in_words() -> None:
    found = language.judge("import nki\n@nki.jit\ndef kernel(x):\n    return " + "-" * 1500 + "1\n", None)
    assert found.passed is False
    assert "nested too deeply" in found.detail
    assert found.hint == "Break long expressions up."


def test_a_kernel_without_decorator_that_prints_passes_with_two_warnings():
    found = language.judge("import nki\ndef kernel(x):\n    print(x.shape)\n    return x\n", None)
    assert found.passed
    assert [warning.rpartition(" ")[2] for warning in found.warnings] == ["[NKI-NO-JIT]", "[NKI-PRINT]"]
    assert "write `@nki.jit` above it" in found.warnings[0]
    assert "runs once, while the kernel is compiled" in found.warnings[1]
    assert "nl.device_print(prefix, tensor)" in found.warnings[1]


def test_a_kernel_that_asks_for_what_came_later_is_told_what_is_judged() -> None:
    body = "    if hasattr(nl, 'fori_loop'):\n        return x\n    return x + 1\n"
    found = language.judge(f"import nki\nimport nki.language as nl\n@nki.jit\ndef kernel(x):\n{body}", None)
    (said,) = found.unjudged
    assert said == (
        "nki.language.fori_loop came with NKI 0.6, and line 5 asks whether it is there (if hasattr(nl, 'fori_loop'):): "
        "judged is what the kernel does in NKI 0.7 alone."
    )


def test_what_every_version_has_is_asked_for_without_a_word() -> None:
    body = "    return x if hasattr(nl, 'exp') and hasattr(x, 'shape') else None\n"
    found = language.judge(f"import nki\nimport nki.language as nl\n@nki.jit\ndef kernel(x):\n{body}", None)
    assert (found.passed, found.unjudged) == (True, ())
