from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from standin_host import MISSING, StandInHost

from nki_anvil.backends.backend import Report, silent
from nki_anvil.backends.child import ChildBackend
from nki_anvil.backends.job import Job
from nki_anvil.backends.run import Run
from nki_anvil.backends.ssh.backend import STAND_IN, RemoteBackend
from nki_anvil.backends.ssh.transport import SshTransport


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Generator[StandInHost]:
    """One host with one SSH server for all tests of a session."""
    if MISSING:
        pytest.skip(MISSING)
    host = StandInHost(tmp_path_factory.mktemp("standin"))
    host.start()
    yield host
    host.stop()


@pytest.fixture
def there(standing: StandInHost, monkeypatch: pytest.MonkeyPatch) -> Generator[StandInHost]:
    """The host, failing in no way, known, with nothing left of other tests."""
    monkeypatch.setenv(STAND_IN, "1")
    standing.switch()
    yield standing
    standing.switch()


class TracedOnce(ChildBackend):
    """The simulator, which traces texts that differ in their comments once in a session."""

    known: ClassVar[dict[str, Run]] = {}

    async def run(self, job: Job, report: Report = silent) -> Run:
        text = "\n".join(line for line in job.kernel.splitlines() if not line.strip().startswith("#"))
        key = job.model_copy(update={"kernel": text, "kernel_digest": ""}).digest()
        if key not in self.known:
            self.known[key] = await super().run(job, report)
        return self.known[key].model_copy(update={"job": job.digest()})


@pytest.fixture
async def remote(there: StandInHost, tmp_path: Path) -> AsyncGenerator[Callable[..., RemoteBackend]]:
    """Makes backends on the host; all are closed at the end."""
    made: list[RemoteBackend] = []

    def make(*, simulate: bool = False, **settings: Any) -> RemoteBackend:
        host = there.host(simulate=simulate, **settings)
        here = TracedOnce(tmp_path / "here", cores=2)
        backend = RemoteBackend("ssh", [(host, SshTransport(host))], here, tmp_path / "results", simulate=simulate)
        made.append(backend)
        return backend

    yield make
    for backend in made:
        await backend.close()
