"""What the language gate says of text that does not parse."""

from nki_anvil.lab.gates import language


def test_a_syntax_error_is_one_sentence_with_its_line():
    found = language.judge("import nki\ndef kernel(x:\n    return x\n", None)
    assert found.passed is False
    assert found.line == 2
    assert found.detail.endswith("(line 2: def kernel(x:).")
    assert ".." not in found.detail
    assert found.hint.startswith("Mend line 2")


def test_a_text_that_is_nested_too_deeply_is_refused_in_words() -> None:
    found = language.judge("import nki\n@nki.jit\ndef kernel(x):\n    return " + "-" * 1500 + "1\n", None)
    assert found.passed is False
    assert "nested too deeply" in found.detail
