"""Settings: one model, three sources, and clear words for what makes no sense."""

import ast
import dataclasses
import inspect
import socket
import textwrap
from pathlib import Path

import pytest

from nki_anvil.backends.errors import ArgumentsInvalid
from nki_anvil.lab.rules import Rules
from nki_anvil.server.building import Builder
from nki_anvil.server.http import bound, refuse_open_doors
from nki_anvil.server.settings import Settings, load


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NKI_ANVIL_WORKSPACE", str(tmp_path))
    return tmp_path


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    (workspace / "nki-anvil.toml").write_text('beam = 3\npairs = 3\nt_pos = 1.5\nbackend = "ssh"\n')
    monkeypatch.setenv("NKI_ANVIL_BEAM", "4")
    monkeypatch.setenv("NKI_ANVIL_PAIRS", "4")
    settings = load(beam=5)
    assert (settings.beam, settings.pairs, settings.t_pos, settings.backend) == (5, 4, 1.5, "ssh")


def test_an_empty_variable_is_not_a_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NKI_ANVIL_BACKEND", "")
    assert load().backend == "simulator"


def test_another_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "shared.toml").write_text("beam = 2\n")
    monkeypatch.setenv("NKI_ANVIL_CONFIG", str(tmp_path / "shared.toml"))
    assert load().beam == 2


@pytest.mark.parametrize("data", [".d", ".", "..", "link"])
def test_hidden_cases_are_never_kept_where_kernels_are_written(workspace: Path, data: str):
    (workspace / "inside").mkdir()
    (workspace / "link").symlink_to(workspace / "inside")
    (workspace / "nki-anvil.toml").write_text(f'data = "{workspace / data}"\n')
    with pytest.raises(ArgumentsInvalid, match=r"lie in each other.*\[arguments.invalid\]"):
        Builder(print).laboratory()


def test_every_rule_of_the_laboratory_is_a_setting_with_the_same_default():
    assert load().rules == Rules()


@pytest.mark.parametrize("text", ["beam = 0\n", "unknown_setting = 1\n", "beam = \n", 'rounds = "many"\n'])
def test_a_setting_that_makes_no_sense_is_refused_with_its_name(workspace: Path, text: str):
    (workspace / "nki-anvil.toml").write_text(text)
    with pytest.raises(ArgumentsInvalid, match=r"settings make no sense.*\[arguments.invalid\]"):
        load()


@pytest.mark.parametrize(
    "rounds", ["[]", "[0]", "[5, 5]", "[9, 5]", "[0, 5]", "[-5, 5]", "[3]", "[5, 100000]", "[5.5, 9]"]
)
def test_looks_that_can_decide_nothing_are_refused_in_one_sentence(
    rounds: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    refused = pytest.raises(ArgumentsInvalid, match=r"rounds.*\[arguments.invalid\]")
    (workspace / "nki-anvil.toml").write_text(f"rounds = {rounds}\n")
    with refused:
        load()
    (workspace / "nki-anvil.toml").unlink()
    monkeypatch.setenv("NKI_ANVIL_ROUNDS", rounds)
    with refused:
        load()


def test_other_looks_are_a_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NKI_ANVIL_ROUNDS", "[3, 7, 20]")
    assert load().rules.rounds == (3, 7, 20)


NUMBERS = [
    field.name for field in dataclasses.fields(Rules) if field.type in ("int", "float", "int | None", "float | None")
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["-1", "nan", '"many"'])
def test_no_number_that_makes_no_sense_becomes_a_rule(name: str, value: str, workspace: Path):
    (workspace / "nki-anvil.toml").write_text(f"{name} = {value}\n")
    with pytest.raises(ArgumentsInvalid, match=name):
        load()


@pytest.mark.parametrize("name", ["calibration_days", "loaded_factor"])
def test_what_would_overflow_a_clock_or_a_count_is_refused(name: str, workspace: Path):
    (workspace / "nki-anvil.toml").write_text(f"{name} = inf\n")
    with pytest.raises(ArgumentsInvalid, match=name):
        load()


def test_other_machines_are_let_in_only_with_a_token():
    with pytest.raises(ArgumentsInvalid, match="NKI_ANVIL_TOKEN"):
        refuse_open_doors(load(host="0.0.0.0"))
    refuse_open_doors(load(host="0.0.0.0", token="a-secret-of-some-length"))
    refuse_open_doors(load())


def test_a_token_that_can_be_guessed_opens_no_door_to_other_machines(caplog: pytest.LogCaptureFixture):
    with pytest.raises(ArgumentsInvalid, match=r"6 characters, fewer than 16: .* openssl rand -hex 32") as caught:
        refuse_open_doors(load(host="0.0.0.0", token="secret"))
    assert "secret" not in caught.value.text
    assert not caplog.text
    refuse_open_doors(load(token="secret"))
    assert "6 characters, fewer than 16" in caplog.text
    caplog.clear()
    refuse_open_doors(load(token="s" * 16))
    assert not caplog.text


def test_a_token_is_never_printed():
    assert "secret" not in repr(load(token="secret"))


def test_every_default_is_argued():
    body = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body[0]
    assert isinstance(body, ast.ClassDef)
    own = [node for node in body.body if isinstance(node, ast.AnnAssign)]
    followed = [body.body[body.body.index(node) + 1] for node in own]
    argued = {node.target.id for node, after in zip(own, followed, strict=True) if isinstance(after, ast.Expr)}  # type: ignore[union-attr]
    assert set(Settings.model_fields) - argued <= set(Rules.__dataclass_fields__)


def test_a_setting_that_does_not_exist_is_answered_with_the_nearest(workspace: Path):
    (workspace / "nki-anvil.toml").write_text("resolutoin = 0.1\n")
    with pytest.raises(ArgumentsInvalid, match="no setting 'resolutoin', did you mean 'resolution'"):
        load()


def test_an_address_that_is_taken_is_said_before_anything_starts():
    refused = pytest.raises(ArgumentsInvalid, match=r"cannot be listened on: .*in use")
    with socket.create_server(("127.0.0.1", 0)) as taken, refused:
        bound(load(port=taken.getsockname()[1]))
