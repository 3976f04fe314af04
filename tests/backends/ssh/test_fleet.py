"""Several hosts: which one takes a job, and what happens when one stops answering."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nki_anvil.backends.errors import ArgumentsInvalid, BackendUnreachable
from nki_anvil.backends.fake import FakeBackend
from nki_anvil.backends.job import Case, Job
from nki_anvil.backends.ssh.backend import RemoteBackend
from nki_anvil.backends.ssh.fleet import Fleet, Post
from nki_anvil.backends.ssh.hosts import Host, HostSettings, parse
from nki_anvil.backends.ssh.session import Session

Build = Callable[..., Job]
ENVIRONMENT = {
    "path": "/p", "dialect": "current", "nki": "0.7.0", "neuronx_cc": "2.28", "torch_neuronx": False, "api": "nrtpy",
}  # fmt: skip


def host(name: str) -> Host:
    return Host(name, name, None, None, simulate=False, settings=HostSettings())


class Answering(Session):
    """A host that says what it has, or does not answer."""

    def __init__(self, name: str, cores: int, nki: str = "0.7.0") -> None:
        super().__init__(host(name), None)  # type: ignore[arg-type]
        self.cores, self.nki, self.down = cores, nki, False

    async def facts(self, *, anew: bool = False) -> dict[str, Any]:
        if self.down:
            raise BackendUnreachable(f"{self.host.name} cannot be reached.")
        environment = {**ENVIRONMENT, "nki": self.nki}
        return {"environments": [environment], "cores": [*range(self.cores)], "stand_in": "", "devices_error": ""}


def fleet(*sizes: int) -> Fleet:
    return Fleet([Post(Answering(f"h{i}", size), cores=size) for i, size in enumerate(sizes)])


def backend(folder: Path, *sessions: Answering) -> RemoteBackend:
    made = RemoteBackend("ssh", [], FakeBackend(), folder)
    made.fleet = Fleet([Post(session) for session in sessions])
    return made


def test_a_job_goes_where_most_of_the_cores_are_free(job: Build) -> None:
    hosts = fleet(2, 8)
    small, large = hosts.posts
    assert hosts.choose(job(""), hosts.posts) is small, "both idle: the first"
    small.busy = 1
    assert hosts.choose(job(""), hosts.posts) is large
    large.busy = 6
    assert hosts.choose(job(""), hosts.posts) is small


def test_both_arms_and_every_round_of_a_comparison_stay_on_one_host(job: Build) -> None:
    hosts = fleet(4, 4)
    case = (Case(key="timed", seed=1),)
    first = hosts.choose(job("a", purpose="benchmark", cases=case, arm="new"), hosts.posts)
    first.busy = 3
    for number in range(5):
        again = job("b", purpose="benchmark", cases=case, arm="best", round=number)
        assert hosts.choose(again, hosts.posts) is first
    assert hosts.choose(job("b"), hosts.posts) is not first, "what is not timed goes elsewhere"


def test_a_comparison_moves_when_its_host_is_gone(job: Build) -> None:
    hosts = fleet(4, 4)
    asked = job("a", purpose="benchmark", cases=(Case(key="timed", seed=1),))
    first = hosts.choose(asked, hosts.posts)
    others = [post for post in hosts.posts if post is not first]
    assert hosts.choose(asked, others) is others[0]


@pytest.mark.anyio
async def test_a_host_that_does_not_answer_is_left_out_until_it_does(tmp_path: Path) -> None:
    one, two = Answering("one", 4), Answering("two", 8)
    one.down, made = True, backend(tmp_path, one, two)
    assert [post.session for post in await made._able()] == [two]
    one.down = False
    assert [post.session for post in await made._able()] == [one, two]
    assert made.cores == 12


@pytest.mark.anyio
async def test_hosts_with_another_sdk_get_no_jobs(tmp_path: Path) -> None:
    one, two = Answering("one", 4), Answering("two", 4, nki="0.5.0")
    made = backend(tmp_path, one, two)
    assert [post.session for post in await made._able()] == [one]
    assert made.toolchain == "nki 0.7.0, neuronx-cc 2.28"


@pytest.mark.anyio
async def test_where_no_host_answers_the_reason_is_the_last_ones(tmp_path: Path) -> None:
    one = Answering("one", 4)
    one.down = True
    with pytest.raises(BackendUnreachable, match="one cannot be reached"):
        await backend(tmp_path, one)._able()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trn2", ("trn2", "trn2", None, None, False)),
        ("me@box:2222", ("me@box:2222", "box", "me", 2222, False)),
        ("simulate:me@box", ("me@box", "box", "me", None, True)),
        ("me@[::1]:22", ("me@[::1]:22", "::1", "me", 22, False)),
    ],
)
def test_a_host_is_written_as_ssh_writes_it(text: str, expected: tuple[Any, ...]) -> None:
    found = parse(text, {})[0]
    assert (found.name, found.address, found.user, found.port, found.simulate) == expected


def test_settings_are_found_by_the_whole_name_and_by_the_host_alone() -> None:
    own = HostSettings(python="/p")
    assert parse("me@box", {"box": own})[0].settings is own
    assert parse("me@box", {"me@box": own})[0].settings is own


@pytest.mark.parametrize("text", ["a b", "me@", "box:port", "@box"])
def test_what_names_no_host_is_refused(text: str) -> None:
    with pytest.raises(ArgumentsInvalid, match="names no host"):
        parse(text, {})
