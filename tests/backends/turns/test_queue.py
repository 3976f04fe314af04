"""Jobs of several clients and servers that ask for the same cores at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from nki_anvil.backends import errand
from nki_anvil.backends.errors import BackendBusy
from nki_anvil.backends.job import Job
from nki_anvil.backends.turns import board, queue
from nki_anvil.backends.turns.board import Board
from nki_anvil.backends.turns.queue import Queue

pytestmark = pytest.mark.anyio
JOB = Job(
    purpose="verify",
    kernel_digest="0",
    entry="kernel",
    chip="trn2",
    version="0.3",
    lnc=1,
    shape_sets=(),
    cases=(),
    kernel="",
)


@dataclass
class Hall:
    """Everybody's jobs begin when their turn comes and end when they are told to."""

    began: list[str] = field(default_factory=list)
    leave: dict[str, anyio.Event] = field(default_factory=dict)
    running: int = 0
    most: int = 0

    async def job(self, where: Queue, client: str, name: str, problem: str = "p") -> None:
        self.leave[name] = anyio.Event()
        with errand.on(client=client, problem=problem, call=name):
            async with where.turn(JOB, 600):
                self.began.append(name)
                self.running += 1
                self.most = max(self.most, self.running)
                await self.leave[name].wait()
                self.running -= 1

    async def until(self, known: Callable[[], bool]) -> None:
        with anyio.fail_after(30):
            while not known():
                await anyio.lowlevel.checkpoint()


def shared(folder: Path, server: str, cores: int = 1) -> Queue:
    return Queue(lambda: cores, Board(folder, server=server), place="/w")


async def served_in_order(hall: Hall) -> None:
    """Ends each job as soon as it has begun."""
    for number, _ in enumerate(list(hall.leave)):
        await hall.until(lambda number=number: len(hall.began) > number)
        hall.leave[hall.began[number]].set()


@pytest.mark.parametrize("servers", [1, 2])
async def test_a_single_job_waits_for_one_of_another_clients_many_and_not_for_all(tmp_path: Path, servers: int):
    queues = [shared(tmp_path, str(number)) for number in range(servers)]
    hall = Hall()
    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(hall.job, queues[0], "search", f"search{number}")
        await hall.until(lambda: bool(hall.began))
        group.start_soon(hall.job, queues[-1], "one", "single")
        await hall.until(lambda: len(hall.leave) == 13)
        await hall.until(lambda: servers == 1 or len(queues[0].standing()[1]) == 12)
        await served_in_order(hall)
    assert hall.began.index("single") == 1, hall.began


async def test_no_more_jobs_run_on_a_machine_than_it_has_cores_however_many_servers_it_has(tmp_path: Path):
    queues = [shared(tmp_path, str(number), cores=2) for number in range(3)]
    hall = Hall()
    async with anyio.create_task_group() as group:
        for number in range(9):
            group.start_soon(hall.job, queues[number % 3], str(number % 3), str(number))
        await hall.until(lambda: hall.running == 2)
        for done in range(9):
            await hall.until(lambda done=done: len(hall.began) > done)
            hall.leave[hall.began[done]].set()
    assert hall.most == 2


def tickets(folder: Path, server: str) -> Path:
    """Where a server that lives says what it waits for and runs."""
    (path,) = folder.glob(f"servers/{server}-*/{board.TICKETS}")
    return path


async def test_a_cancelled_job_leaves_the_queue_and_its_core(tmp_path: Path):
    mine, hall = shared(tmp_path, "a"), Hall()
    async with anyio.create_task_group() as group:
        group.start_soon(hall.job, mine, "c", "runs")
        await hall.until(lambda: hall.began == ["runs"])
        group.start_soon(hall.job, mine, "c", "waits")
        await hall.until(lambda: len(mine.standing()[1]) == 1)
        group.cancel_scope.cancel()
    assert mine.standing() == ([], [])
    assert json.loads(tickets(tmp_path, "a").read_text()) == []


async def test_who_has_a_thousand_jobs_waiting_is_refused_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queue, "MOST_WAITING", 2)
    mine, hall = Queue(lambda: 1), Hall()
    async with anyio.create_task_group() as group:
        group.start_soon(hall.job, mine, "greedy", "runs")
        await hall.until(lambda: hall.began == ["runs"])
        group.start_soon(hall.job, mine, "greedy", "waits")
        group.start_soon(hall.job, mine, "greedy", "waits too")
        await hall.until(lambda: len(mine.standing()[1]) == 2)
        with errand.on(client="greedy"), pytest.raises(BackendBusy, match="2 jobs of this client wait"):
            async with mine.turn(JOB, 1):
                pass
        group.start_soon(hall.job, mine, "modest", "another's")
        await hall.until(lambda: len(mine.standing()[1]) == 3)
        group.cancel_scope.cancel()


HOLDS = """
import sys, time
from pathlib import Path
from nki_anvil.backends.turns.board import Board
from nki_anvil.backends.turns.ticket import Ticket
own = [Ticket(name="theirs", client="theirs", place="/w", problem="p", call="1", purpose="verify", asked=time.time(),
              longest_s=600.0)]
board = Board(Path(sys.argv[1]))
assert board.take(own, 1)
print("holds", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[int]:
    """Another server's process that holds the only core."""
    process = subprocess.Popen([sys.executable, "-P", "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "holds\n"
    yield process.pid
    process.kill()
    process.wait()
    process.stdout.close()


async def test_a_server_that_is_killed_gives_its_cores_back_at_once(tmp_path: Path, holder: int):
    folder, mine, hall = tmp_path, shared(tmp_path, "a"), Hall()
    async with anyio.create_task_group() as group:
        group.start_soon(hall.job, mine, "c", "mine")
        await hall.until(lambda: len(mine.standing()[1]) == 1)
        assert [ticket.client for ticket in mine.standing()[0]] == ["theirs"]
        os.kill(holder, signal.SIGKILL)
        await hall.until(lambda: hall.began == ["mine"])
        hall.leave["mine"].set()
    left = {path for path in folder.rglob("*") if path.is_file()}
    assert left == {folder / ".lock", folder / "served", tickets(folder, "a")}, "a dead server's files are still there"


def test_a_server_that_hangs_holds_no_core_longer_than_its_job_may_take_and_no_place_in_the_queue(tmp_path: Path):
    now = [time.time()]
    theirs, mine = (Board(tmp_path, server=name, clock=lambda: now[0]) for name in "ab")
    hangs, waits = (Queue(lambda: 1, theirs)._ticket(JOB, 100) for _ in range(2))
    begun = theirs.take([hangs, waits], 1)
    assert begun
    now[0] += board.FRESH_S + 1
    assert mine.others() == [begun], "who says nothing for seconds is not waited for"
    now[0] += 100
    assert mine.others() == []


def test_a_board_that_cannot_be_written_costs_nobody_their_turn(tmp_path: Path):
    (tmp_path / "file").write_text("")
    nowhere = Board(tmp_path / "file" / "turns")
    ticket = Queue(lambda: 1, nowhere)._ticket(JOB, 1)
    taken = nowhere.take([ticket], 1)
    assert taken
    assert taken.runs


def test_what_other_versions_or_crashes_left_on_a_board_is_passed_over(tmp_path: Path):
    theirs, mine = Board(tmp_path, server="a"), Board(tmp_path, server="b")
    theirs.post([])
    mine.post([])
    for rubbish in ("", "{", "[1]", '[{"name": "x"}]', '{"a": 1}', "null"):
        tickets(tmp_path, "a").write_text(rubbish)
        (tmp_path / "served").write_text(rubbish)
        assert mine.others() == []
        mine.served()
