"""What the language gate says of text that does not parse."""

from nki_anvil.lab.gates import language


def test_a_syntax_error_is_one_sentence_with_its_line():
    found = language.judge("import nki\ndef kernel(x:\n    return x\n", None)
    assert found.passed is False
    assert found.line == 2
    assert found.detail.endswith("(line 2: def kernel(x:).")
    assert ".." not in found.detail
