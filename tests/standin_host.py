"""A host for tests: a real OpenSSH server of this user's on loopback, whose Neuron SDK is the stand-in."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import command, descendants

from nki_anvil.backends.ssh.hosts import Host, HostSettings

STANDIN = Path(__file__).parent / "standin"
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
MISSING = (
    "" if SSHD and shutil.which("ssh-keygen") else "OpenSSH's server is not installed (apt-get install openssh-server)"
)

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x, scale):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
"""Of two arguments, ``x`` and the scalar ``scale``."""


@dataclass
class StandInHost:
    """Everything lies below ``folder``; ``generation`` is current, spike, explorer, beta2 or beta1."""

    folder: Path
    generation: str = "current"
    nki: str = "0.7.0"
    port: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    _sshd: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.home.mkdir()
        (self.home / "tools").mkdir()
        packages = {
            "spike": ["current", "spike"],
            "explorer": ["current", "tables"],
            "current": ["current", "tables"],
            "beta2": ["beta2", "torch_neuronx", "tables"],
            "beta2-alone": ["beta2"],
        }
        self._python("python", packages.get(self.generation, [self.generation]))
        self._python("nrtpy-python", ["nrtpy"])
        for tool, script in (
            ("neuron-ls", "neuron_ls"),
            ("neuron-explorer", "profiler"),
            ("neuron-profile", "profiler"),
        ):
            if (tool, self.generation) not in (("neuron-explorer", "beta1"), ("neuron-profile", "current")):
                self._tool(tool, script)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def root(self) -> Path:
        return self.home / "anvil"

    def switch(self, **switches: Any) -> None:
        """Make the stand-in fail in these ways, and in no others."""
        (self.home / "switches.json").write_text(json.dumps(switches))

    def host(self, *, simulate: bool = False, **settings: Any) -> Host:
        """How a server is told of it."""
        return Host("standin", "standin", None, None, simulate, HostSettings(**{**self.told(), **settings}))

    def told(self) -> dict[str, Any]:
        """Settings of ``[remote.standin]``."""
        nrtpy = {"nrtpy_python": str(self.home / "nrtpy-python")} if self.generation == "current" else {}
        return {
            "python": str(self.home / "python"), **nrtpy, "tools": str(self.home / "tools"), "root": str(self.root),
            "leases": str(self.home / "leases"), "config": str(self.folder / "ssh_config"), **self.settings,
        }  # fmt: skip

    def device_log(self) -> list[dict[str, Any]]:
        return lines(self.home / "device.jsonl")

    def lease_log(self) -> list[dict[str, Any]]:
        return lines(self.home / "leases" / "log.jsonl")

    # the SSH server

    def start(self) -> None:
        """Its own configuration, keys and port; logs in only this user."""
        self._keys()
        self.port = self.port or free_port()
        (self.folder / "authorized_keys").write_text((self.folder / "id.pub").read_text())
        (self.folder / "sshd_config").write_text(self._server_configuration())
        (self.folder / "ssh_config").write_text(self._client_configuration())
        self.know()
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where a server started by root separates its privileges
        self.listen()

    def listen(self) -> None:
        assert SSHD
        with (self.folder / "sshd.log").open("ab") as log:
            self._sshd = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")], stdin=subprocess.DEVNULL, stderr=log
            )
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, (self.folder / "sshd.log").read_text()
                assert self._sshd.poll() is None, (self.folder / "sshd.log").read_text()
                time.sleep(0.02)

    def stop(self) -> None:
        """The server and every connection to it, as when a host goes away."""
        self.cut()
        if self._sshd is not None:
            self._sshd.terminate()
            self._sshd.wait()
            self._sshd = None

    def cut(self) -> None:
        """Break every connection at once; whatever runs there goes on."""
        if self._sshd is not None:
            for pid in descendants(self._sshd.pid):
                if command(pid).startswith("sshd"):
                    kill(pid)

    def new_host_key(self) -> None:
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink()
        keygen(self.folder / "host_key")

    def know(self) -> None:
        """Accept the host's key, as a person does once."""
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")

    def _keys(self) -> None:
        for name in ("id", "host_key"):
            if not (self.folder / name).exists():
                keygen(self.folder / name)

    def _server_configuration(self) -> str:
        return "\n".join([
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.folder / 'host_key'}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}", "PasswordAuthentication no",
            "KbdInteractiveAuthentication no", "UsePAM no", "StrictModes no", f"PidFile {self.folder / 'sshd.pid'}",
            "PermitRootLogin prohibit-password", f"AllowUsers {getpass.getuser()}", "MaxStartups 100",
            "MaxSessions 100",
            "SetEnv SHLVL=1",  # without it bash reads this account's start-up file for every command
            "",
        ])  # fmt: skip

    def _client_configuration(self) -> str:
        return "\n".join([
            "Host standin", "  HostName 127.0.0.1", f"  Port {self.port}", f"  User {getpass.getuser()}",
            f"  IdentityFile {self.folder / 'id'}", f"  UserKnownHostsFile {self.folder / 'known_hosts'}", "",
        ])  # fmt: skip

    # what stands in for the SDK

    def _python(self, name: str, packages: list[str]) -> None:
        places = ":".join(str(STANDIN / package) for package in [*packages, "common"])
        self._script(name, f'export PYTHONPATH="$PYTHONPATH:{places}"\nexec {sys.executable} "$@"')

    def _tool(self, name: str, script: str) -> None:
        # run under the tool's own name, which tells the profilers apart
        link = self.home / "tools" / f".{name}" / name
        link.parent.mkdir()
        link.symlink_to(STANDIN / "tools" / f"{script}.py")
        self._script(
            f"tools/{name}", f'export PYTHONPATH="$PYTHONPATH:{STANDIN / "common"}"\nexec {sys.executable} {link} "$@"'
        )

    def _script(self, name: str, text: str) -> None:
        path = self.home / name
        path.write_text(
            f"#!/bin/sh\nexport STANDIN_HOME={self.home} STANDIN_NKI={self.nki} OPENBLAS_NUM_THREADS=1\n{text}\n"
        )
        path.chmod(0o755)


def keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, 9)
