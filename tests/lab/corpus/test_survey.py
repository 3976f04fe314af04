"""Folders of kernels: what is found without a word, what is stated, and what is said of the rest."""

from pathlib import Path

import pytest

from nki_anvil.backends.corpus.child import Bounds
from nki_anvil.backends.errors import ArgumentsInvalid, PathUnreadable
from nki_anvil.lab.corpus.fate import Fate
from nki_anvil.lab.corpus.survey import survey


def only(folder: Path, **options: object) -> Fate:
    found = survey(folder, **options)  # pyright: ignore[reportArgumentType]
    assert len(found.kernels) == 1, found
    return found.kernels[0]


def test_each_kernel_is_told_of_before_the_next_one_runs(folder: Path, adding: str, stated: str):
    (folder / "adding.py").write_text(adding)
    (folder / "later.py").write_text(adding)
    (folder / "corpus.toml").write_text(stated + stated.replace("adding.py", "later.py"))
    told: list[Fate] = []

    def spoil_the_next(one: Fate) -> None:
        told.append(one)
        (folder / "later.py").write_text(adding.replace("op=nl.add", "op=nl.subtract"))

    found = survey(folder, tell=spoil_the_next)
    assert [one.status for one in told] == ["matches", "differs"]
    assert told == found.kernels
    assert str(found) == f"{folder}: 1 differs, 1 matches"


def test_a_kernel_is_called_by_its_files_own_test_and_compared_with_the_reference_of_its_name(
    folder: Path, adding: str
):
    (folder / "adding.py").write_text(
        adding + "\n\ndef test_it():\n    ones = np.ones((64, 32), np.float32)\n    add_kernel(ones, ones)\n"
    )
    found = only(folder)
    assert (found.status, found.reference, found.relative_error) == ("matches", "add_ref", 0.0)
    assert found.instructions == 4
    assert found.latency_us is not None
    assert found.latency_us > 0


def test_what_stands_under_main_is_an_example_and_a_failed_assertion_counts(folder: Path, adding: str):
    example = "\n\nif __name__ == '__main__':\n    one = np.ones((4, 4), np.float32)\n"
    example += "    assert (add_kernel(one, one) == {}).all()\n"
    without = adding.replace("add_ref", "something")
    (folder / "adding.py").write_text(without + example.format(2))
    assert only(folder).status == "runs"
    (folder / "adding.py").write_text(without + example.format(3))
    found = only(folder)
    assert found.status == "differs"
    assert "assertion failed" in found.why


def test_a_kernel_that_nothing_calls_is_untried_and_no_failure(folder: Path, adding: str):
    (folder / "adding.py").write_text(adding)
    found = survey(folder)
    assert found
    assert found.counts == {"untried": 1}
    assert "corpus.toml" in found.kernels[0].why


def test_a_file_whose_imports_are_missing_is_run_without_them(folder: Path, adding: str, stated: str):
    (folder / "adding.py").write_text("import a_framework_that_is_not_here\n" + adding)
    (folder / "corpus.toml").write_text(stated)
    assert only(folder).status == "matches"


def test_a_wrong_kernel_differs_by_as_much_as_it_is_wrong(folder: Path, adding: str, stated: str):
    (folder / "adding.py").write_text(adding.replace("op=nl.add", "op=nl.subtract"))
    (folder / "corpus.toml").write_text(stated)
    found = only(folder)
    assert found.status == "differs"
    assert found.relative_error is not None
    assert found.relative_error > 0.5
    assert not survey(folder)


@pytest.mark.parametrize(
    ("reference", "status"),
    [
        ("a + b", "matches"),
        ("np.add", "matches"),
        ("add_ref", "matches"),
        ("others:tripled", "differs"),
        ("(a + b, a)", "reference failed"),
    ],
)
def test_a_reference_is_a_name_or_an_expression(folder: Path, adding: str, stated: str, reference: str, status: str):
    (folder / "adding.py").write_text(adding)
    (folder / "others.py").write_text("def tripled(a, b):\n    return 3 * a\n")
    (folder / "corpus.toml").write_text(f"{stated}reference = {reference!r}\n")
    assert only(folder).status == status


def test_inputs_come_from_a_function_and_keywords_from_the_sidecar(folder: Path, adding: str):
    (folder / "adding.py").write_text(adding)
    (folder / "cases.py").write_text(
        "import numpy as np\n\ndef two():\n    return {'a': np.ones((4, 4), 'f4'), 'b': np.ones((4, 4), 'f4')}\n"
    )
    kernel = '[[kernel]]\nfile = "adding.py"\nentry = "add_kernel"\n'
    (folder / "corpus.toml").write_text(kernel + 'inputs = "cases:two"\n')
    assert only(folder).status == "matches"
    keywords = (
        '[kernel.keywords]\na = {shape = [4, 4], values = "range"}\nb = {expression = "np.ones((4, 4), \'f4\')"}\n'
    )
    (folder / "corpus.toml").write_text(kernel + keywords)
    assert only(folder).status == "matches"


def test_a_kernel_that_is_meant_to_be_refused_is(folder: Path, adding: str, stated: str):
    (folder / "adding.py").write_text(adding)
    large = stated.replace("64", "200")
    (folder / "corpus.toml").write_text(large)
    assert only(folder).status == "breaks rules"
    (folder / "corpus.toml").write_text(large + 'refused = "TRN2-PART-128"\n')
    assert only(folder).status == "refused"
    (folder / "corpus.toml").write_text(stated + 'refused = "TRN2-PART-128"\n')
    assert only(folder).status == "differs"


def test_a_kernel_in_a_package_imports_its_neighbours(folder: Path, adding: str, stated: str):
    package = folder / "src" / "ours" / "deep"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "neighbour.py").write_text("OFFSET = 0\n")
    (package / "adding.py").write_text("from .neighbour import OFFSET\n" + adding)
    (folder / "corpus.toml").write_text('roots = ["src"]\n' + stated.replace("adding.py", "src/ours/deep/adding.py"))
    assert only(folder).status == "matches"


def test_two_cores_are_launched_where_the_sidecar_says_so(folder: Path, adding: str, stated: str):
    both = adding.replace("    out =", "    assert nl.num_programs(0) == 2\n    out =")
    (folder / "adding.py").write_text(both)
    (folder / "corpus.toml").write_text(stated + "lnc = 2\n")
    assert only(folder).status == "matches"


def test_a_kernel_is_traced_under_the_version_that_it_is_written_for(folder: Path, adding: str, stated: str):
    older = adding.replace("    out =", "    for _ in nl.dynamic_range(1):\n        pass\n    out =")
    (folder / "adding.py").write_text(older)
    (folder / "corpus.toml").write_text(stated)
    assert only(folder).status == "not traced"
    (folder / "corpus.toml").write_text('version = "0.6"\n' + stated)
    assert only(folder).status == "matches"


def test_an_endless_file_and_one_that_ends_the_process_break_off(folder: Path, adding: str, stated: str):
    (folder / "adding.py").write_text(adding + "\nwhile True:\n    pass\n")
    (folder / "corpus.toml").write_text(stated)
    found = only(folder, bounds=Bounds(seconds=2))
    assert (found.status, "Timeout" in found.why) == ("broke off", True)
    (folder / "adding.py").write_text(adding + "\nimport os\nos._exit(3)\n")
    found = only(folder)
    assert (found.status, "status 3" in found.why) == ("broke off", True)


def test_a_file_that_does_not_parse_is_named_with_its_line(folder: Path):
    (folder / "broken.py").write_text("import nki\n\nx = (\n")
    found = only(folder)
    assert found.status == "unread"
    assert "line 3" in found.why
    assert not survey(folder)


def test_other_dialects_hidden_folders_and_plain_files_are_passed_over(folder: Path, adding: str):
    (folder / "old.py").write_text(
        adding.replace("import nki\n", "from neuronxcc import nki\n").replace("import nki.", "# ")
    )
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "adding.py").write_text(adding)
    (folder / "plain.py").write_text("x = 1\n")
    assert survey(folder).kernels == []


def test_only_what_matches_is_run(folder: Path, adding: str):
    (folder / "adding.py").write_text(adding)
    assert survey(folder, match="adding.py:add_*").kernels
    assert not survey(folder, match="other*").kernels


@pytest.mark.parametrize(
    "text",
    [
        "kernel = 3",
        "[[kernel]]\nfile = 'x.py'",
        "[[kernel]]\nfile='x'\nentry='y'\nlnc=3",
        "= nonsense",
        "[[kernel]]\nfile='a'\nentry='b'\narguments=[{shape=[1], dtype='f9'}]",
    ],
)
def test_a_sidecar_that_makes_no_sense_says_where(folder: Path, text: str):
    (folder / "corpus.toml").write_text(text)
    with pytest.raises(ArgumentsInvalid, match=r"corpus\.toml"):
        survey(folder)


def test_a_folder_or_a_python_that_is_not_there_is_named(folder: Path, adding: str, stated: str):
    with pytest.raises(PathUnreadable, match="nowhere"):
        survey(folder / "nowhere")
    (folder / "adding.py").write_text(adding)
    (folder / "corpus.toml").write_text(stated)
    with pytest.raises(PathUnreadable, match="no_python"):
        survey(folder, python="/no_python")
