"""Each wall on its own, put up in a process that is thrown away."""

import os
import subprocess
import sys
import textwrap

import pytest

from nki_anvil.backends.worker import isolation

linux = pytest.mark.skipif(sys.platform != "linux", reason="walls of Linux")


def printed_by(body: str) -> str:
    """What a fresh process prints that has imported the walls."""
    header = "import os, sys\nfrom nki_anvil.backends.worker import isolation, landlock, seccomp\n"
    done = subprocess.run([sys.executable, "-c", header + textwrap.dedent(body)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@linux
def test_a_daemonised_grandchild_is_adopted_and_killed() -> None:
    body = """
        assert isolation.adopt_orphans()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writer, str(os.getpid()).encode())
                os.read(os.pipe()[0], 1)  # for ever
            os._exit(0)
        os.waitpid(child, 0)
        orphan = int(os.read(reader, 16))
        ended = isolation.end_strays(set())
        try:
            os.kill(orphan, 0)
        except ProcessLookupError:
            print("gone", ended)
    """
    assert printed_by(body) == "gone 1"


@linux
def test_processes_that_the_runner_knows_are_not_strays() -> None:
    body = """
        child = os.fork()
        if child == 0:
            os.read(os.pipe()[0], 1)
        print(isolation.end_strays({child}), os.kill(child, 9), os.waitpid(child, 0)[1])
    """
    assert printed_by(body) == "0 None 9"


@linux
def test_the_filter_allows_threads_and_refuses_processes_and_sockets() -> None:
    body = """
        import socket, threading
        seccomp.apply()
        thread = threading.Thread(target=print, args=("threads",))
        thread.start()
        thread.join()
        for attempt in (os.fork, os.setsid, socket.socket, lambda: os.kill(os.getpid(), 9)):
            try:
                attempt()
            except PermissionError:
                print("refused")
    """
    assert printed_by(body).split() == ["threads", *["refused"] * 4]


@linux
def test_the_filter_refuses_outliving_the_parent_other_users_and_signals_by_way_of_descriptors() -> None:
    body = """
        import ctypes, fcntl, signal
        reader, writer = os.pipe()
        seccomp.apply()
        libc = ctypes.CDLL(None, use_errno=True)
        for call in (
            lambda: libc.prctl(1, 0),  # PR_SET_PDEATHSIG, none
            lambda: libc.syscall(157 if os.uname().machine == "x86_64" else 167, ctypes.c_ulong(1 << 32 | 1), 0),
            lambda: libc.setuid(os.getuid()),
            lambda: libc.setresgid(os.getgid(), os.getgid(), os.getgid()),
            lambda: libc.fcntl(reader, fcntl.F_SETOWN, os.getppid()),
            lambda: libc.fcntl(reader, fcntl.F_SETSIG, signal.SIGKILL),
            lambda: libc.ioctl(reader, 0x8901, ctypes.byref(ctypes.c_int(os.getppid()))),
        ):
            ctypes.set_errno(0)
            print(call(), ctypes.get_errno())
        print(libc.prctl(4, 0), fcntl.fcntl(reader, fcntl.F_GETFD) >= 0, os.get_blocking(reader))
    """
    assert printed_by(body).splitlines() == [*["-1 1"] * 7, "0 True True"]


@linux
def test_a_process_that_runs_kernel_text_dies_with_its_parent_whatever_it_tries() -> None:
    body = """
        import ctypes, signal
        isolation.adopt_orphans()
        reader, writer = os.pipe()
        parent = os.fork()
        if parent == 0:
            if os.fork() == 0:
                isolation.detach()
                isolation.confine(isolation.Bounds(10, 1 << 32, file_bytes=0), [])
                ctypes.CDLL(None).prctl(1, 0)
                signal.alarm(5)  # whatever survives, does so no longer
                os.write(writer, b"ready")
                signal.pause()
            signal.pause()
        os.close(writer)
        os.read(reader, 5)
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        print(os.read(reader, 5), os.waitpid(-1, 0)[1])
    """
    assert printed_by(body) == "b'' 9"


@linux
@pytest.mark.skipif(isolation.landlock.version() == 0, reason="no Landlock in this system")
def test_landlock_leaves_reading_below_the_given_folders_only(tmp_path: object) -> None:
    body = f"""
        open({str(tmp_path)!r} + "/given", "w").write("text")
        landlock.apply([{str(tmp_path)!r}])
        print(open({str(tmp_path)!r} + "/given").read())
        for attempt in (
            lambda: open({str(tmp_path)!r} + "/given", "a"),
            lambda: os.remove({str(tmp_path)!r} + "/given"),
            lambda: os.listdir("/"),
            lambda: open("/proc/self/environ"),
        ):
            try:
                attempt()
            except PermissionError:
                print("refused")
    """
    assert printed_by(body).split() == ["text", *["refused"] * 4]


@linux
@pytest.mark.skipif(os.getuid() == 0, reason="the system does not count root's processes")
def test_a_limit_on_processes_counts_the_namespace_own_ones_and_stops_a_fork_bomb() -> None:
    body = """
        isolation.detach()
        isolation.limit(isolation.Bounds(cpu_s=10, memory_bytes=1 << 30, processes=4))
        children = []
        try:
            for _ in range(64):
                child = os.fork()
                if child == 0:
                    os.read(os.pipe()[0], 1)
                children.append(child)
        except BlockingIOError:
            print(len(children))
        for child in children:
            os.kill(child, 9)
    """
    assert int(printed_by(body)) < 5


def test_no_file_can_grow_where_files_are_limited_to_nothing(tmp_path: object) -> None:
    body = f"""
        isolation.limit(isolation.Bounds(cpu_s=10, memory_bytes=1 << 32, file_bytes=0))
        try:
            with open({str(tmp_path)!r} + "/run.json", "w") as file:
                file.write("forged")
        except OSError:
            print("refused")
    """
    assert printed_by(body) == "refused"


def test_the_walls_that_stand_are_told_with_what_their_absence_means() -> None:
    told = {wall.name: wall for wall in isolation.describe()}
    assert set(told) == {"limits", "namespaces", "landlock", "seccomp", "subreaper"}
    assert told["limits"].active
    assert told["seccomp"].active == (sys.platform == "linux")
    assert all("without it" in wall.detail for wall in told.values() if wall.name != "limits")
